"""Reports: each module here renders a finished Report as text and computes nothing anew."""
