export { defaultConfigToml, settingsHelp, settingsReference } from './documents.ts'
export { foundationSettings } from './foundation-settings.ts'
export {
  envNameOf,
  flagOf,
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  type Provenance,
} from './load.ts'
export * from './setting.ts'
