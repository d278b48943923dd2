[
  .type == "track",
  (.type != "track" and (.event | startswith("item_"))),
  (.event | startswith("item_") or startswith("search_")),
  (.event | . == "error_shown" or . == "error_retried" or . == "checkout_started"),
  (.event | endswith("_completed")),
  .context.os.name == "ios",
  (.context.os.name == "android" and .context.locale == "de-DE"),
  (.context.locale | startswith("en-") or startswith("fr-")),
  (.context.device.manufacturer == "Apple" and .context.os.name != "macos"),
  (.context.device.manufacturer | . == "Samsung" or . == "Xiaomi")
]
