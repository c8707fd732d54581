"""What a spec says in few words, said in full: how answers are handed in, slips, questions that are asked again."""
