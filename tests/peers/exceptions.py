def reason_for(item):
    return None
