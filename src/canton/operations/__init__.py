"""WHAT TAKES TIME: plans and the engine that carries them out.

    plan           what would be done, as data, with a digest
    catalog/       one pure planner per operation: snapshot → plan
    submit         plan → operation, in one transaction
    lease          which worker may drive which operation, and until when
    worker         the process: waits for due operations, leases and drives them
    drive          one leased operation: starts what can run, records what came of it, comes to rest
    board          which steps can run now, and where the operation rests when none can
    attempt        one step: what it saw decides whether it acts, waits, fails or is done
    calls          calls to devices, within their time
    pen            writes a drive's rows in order, under its fence
    endings        what coming to rest changes, in one transaction
    kinds, steps/  what a step kind is, and one file for each
    interventions  retry, undo, abandon, cancel

Rows are the only state: a process that dies at any instant leaves everything a successor needs. No HTTP, no
driver and no policy lives here.
"""
