export { suggest } from '../errors/index.ts'
export {
  formatDefaultToml,
  formatForeignReference,
  formatSettingsHelp,
  formatSettingsReference,
} from './documents.ts'
export type { ForeignSetting, ForeignSettings } from './foreign-settings.ts'
export { foundationSettings, type ServiceDefaults } from './foundation-settings.ts'
export {
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  type Provenance,
  readSettingsFile,
  type SettingsFile,
  toEnvName,
} from './load.ts'
export * from './setting.ts'
export { formatSettingsToml } from './settings-toml.ts'
