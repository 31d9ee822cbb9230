export { suggestion } from '../errors/index.ts'
export { defaultConfigToml, foreignReference, settingsHelp, settingsReference } from './documents.ts'
export type { ForeignSetting, ForeignSettings } from './foreign-settings.ts'
export { foundationSettings, type ServiceDefaults } from './foundation-settings.ts'
export {
  envNameOf,
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  type Provenance,
  type ReadFile,
  readSettingsFile,
} from './load.ts'
export * from './setting.ts'
export { settingsToml } from './settings-toml.ts'
