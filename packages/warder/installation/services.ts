import { authDefaults, authSettings } from '@warder/auth/settings'
import type { ServiceName } from '@warder/command-line/endpoints'
import { kmsDefaults, kmsSettings } from '@warder/kms/settings'
import { rootKeySettings } from '@warder/root-key-providers/settings'
import { type ForeignSettings, foundationSettings, type SettingsTable } from '@warder/runtime/settings'
import { peerSettings } from './peer-settings.ts'

/** Returns all settings of a service: the common ones and its own. */
export function getSettings(name: ServiceName): SettingsTable {
  return name === 'auth'
    ? { ...foundationSettings(authDefaults), ...rootKeySettings, ...authSettings }
    : { ...foundationSettings(kmsDefaults), ...rootKeySettings, ...kmsSettings }
}

/** Returns the settings of other servers that a service understands. */
export function getForeignSettings(name: ServiceName): ForeignSettings {
  return name === 'auth' ? {} : peerSettings
}

/** Modules in which workers find the service's definition. */
export const serviceModules: Readonly<
  Record<ServiceName, { readonly module: string; readonly exportName: string }>
> = {
  auth: { module: import.meta.resolve('@warder/auth'), exportName: 'authService' },
  kms: { module: import.meta.resolve('@warder/kms'), exportName: 'kmsService' },
}
