select(.type == "track" and (.event | startswith("item_") or startswith("search_"))) | del(.context.ip)
