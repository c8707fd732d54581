"""The door to students' code: requests go in, outcomes come out.

    runner.py     run(call) execute(program) inspect(file)       host/servers.py starts what these need
       |  one socket, passing descriptors                        host/fork_server.py (Linux), spawned.py (elsewhere)
    loader -> fork -> launcher                                   host/loader.py: torch loaded once, before any jail
    launcher -> child/server.py = process 1 of its namespaces    jail.enter: root.py, places.py
                   +- branch: a fork with one subject ready      child/subject.py
                   |  each meters and ends its jobs              child/supervisor.py, jail/usage.py
                   +- child/main.py: jail.confine, then a kind of jobs.py (call, write, script, ...) -> one frame

There are five kinds of server, each started when first needed: `students` (torch); `light` (nothing loaded);
`reader`, which reads hand-ins and knows words and types but no expected value; one for each trusted folder
(`reference/` is in its root, no student's code is); and one without any library, for a command that measures a
single file.

`students` and the trusted servers are forks of one process that has imported torch and runs nothing; each enters its
jail before it learns of a job. A subject's weights lie in a sealed file without a name, so that a fork copies no page
tables of them; a branch that needs the same network is handed that file (host/branch.py). They are drawn for
functions that read them: the others get a file that is empty, and stays so (host/branch.py). A result of 1 to 32 MB
lies in such a file, too, where a control group bounds a job's memory.

`jail/` has the layers that a process puts on, each job with a user id of its own; `host/protection.py` turns those
that hold into a tier. `host/cgroups.py` gives each job a control group, below the grader's own. Own namespaces come
before bubblewrap, because a forked job needs a scratch and a process tree of its own.
"""
