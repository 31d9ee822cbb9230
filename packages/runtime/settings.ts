export { listChangedSettings } from './config/changed-settings.ts'
export { formatDefaultToml, formatSettingsHelp, formatSettingsToml } from './config/documents.ts'
export type { ForeignSettings } from './config/foreign-settings.ts'
export {
  foundationSettings,
  localRootKeySources,
  type ServiceDefaults,
} from './config/foundation-settings.ts'
export { type LoadedConfig, loadConfig, readSettingsFile, toEnvName } from './config/load.ts'
export { type NoticeConfig, noticeSettings } from './config/notice-settings.ts'
export {
  httpsProblem,
  keySetProblem,
  providersProblem,
  readProviderText,
  spiffe,
} from './config/provider-addresses.ts'
export {
  type RoleSource,
  type RoleSourceKind,
  readRoleSources,
  roleSourcesProblem,
} from './config/role-sources.ts'
export {
  boolean,
  choice,
  integer,
  isSecret,
  list,
  optionalInteger,
  optionalText,
  type Setting,
  type SettingsTable,
  type SettingValues,
  text,
} from './config/setting.ts'
