"""The mechanisms, compiled, in rooms by what they know; what needs several rooms stands here, above them.

A job leaves its machines here (`leave`), machines fail and are reclaimed here, queues of workers run here, and here a
run is set up, copied and its energy computed. Policies and the loop call the engine; it calls neither.
"""
