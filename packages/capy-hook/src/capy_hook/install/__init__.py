"""Put capy's entries into the files of AI coding tools, and take exactly them out again.

`plan` knows what each host wants where; `jsonfile`, `marked` and `wholefile` edit text so that every byte that is not
ours stays; `apply` reads and writes files. Nothing is recorded outside of the files: our entries are known by the
command that they run.
"""
