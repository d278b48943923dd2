public import PluginKit
