// A target of C needs a header. This one declares nothing: see module.map.
