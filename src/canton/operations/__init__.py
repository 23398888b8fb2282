"""WHAT TAKES TIME: plans and the engine that carries them out.

    plan           what would be done, as data, with a digest
    catalog/       one pure planner per operation: snapshot → plan
    submit         plan → operation, in one transaction
    lease          which worker may drive which operation, and until when
    worker         the process: waits for due operations, leases and drives them
    drive          one leased operation: which steps run now, and what their outcomes mean
    attempt        one step: observe, act if needed, read back
    steps/         one file per step kind
    interventions  retry, undo, abandon, cancel

Rows are the only state: a process that dies at any instant leaves everything a successor needs. No HTTP, no
driver and no policy lives here.
"""
