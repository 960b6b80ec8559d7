"""What runs beside a workflow so that its jobs start warm: never needed for a result, only for its speed."""
