import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describeWriteError, inHome, type Logger, StartupError, systemClock } from '@warder/base'
import { createOutbound, readOutboundAccess } from '@warder/outbound'
import {
  checkSuites,
  chooseCiphers,
  isLocalAuthorityComplete,
  readAuthorities,
  readPair,
} from '@warder/server'
import { requireFipsProvider } from '../fips/provider.ts'
import { createAuditTimestamps } from './audit-time-stamps.ts'
import { openClientCrls } from './client-crls.ts'
import { checkDatabaseFiles, toDatabaseLocation } from './database.ts'
import type { RuntimeConfig, ServiceLaunch } from './launch.ts'
import { requireNoticeSettings } from './notice-jobs.ts'
import { formatUrl, getLocalAuthorityOptions, type Start } from './primary-start.ts'
import { requireRootKeySource, rootKeySource } from './root-keys.ts'
import { loadDefinition, type ServiceDefinition } from './service.ts'
import {
  canRequireCertificates,
  createMaterialsReader,
  createTlsReader,
  hasOwnCertificate,
  usesLocalAuthority,
} from './tls-materials.ts'

/** The parts of a start with which its settings are checked. */
export type SettingsCheck = Pick<Start, 'launch' | 'definition' | 'clock' | 'log'>

/**
 * Refuses settings with which the service cannot serve, and unusable files and variables that they name. It opens, writes
 * and listens on nothing. Every start begins with it; `warder check` calls it alone.
 * @throws StartupError
 */
export async function validateSettings(check: SettingsCheck): Promise<void> {
  const { launch, definition, clock, log } = check
  const { config, home } = launch
  checkDatabaseFiles(toDatabaseLocation(config, home, definition.name))
  await requireFipsProvider(config, home)
  validateTls(check)
  requireAuthorities('outbound_ca_file', config, home)
  readOutboundAccess(config, home, launch.env)
  if (config.audit_enabled) createAuditTimestamps(config, home)
  await requireRootKey(launch)
  requireNoticeSettings(definition, config, home)
  const baseUrl = formatUrl(check, config.port)
  await definition.check?.({ config, home, baseUrl, clock, log })
}

/**
 * `validateSettings` without a start, including the external systems that a running service contacts.
 * @returns a sentence for each of those that cannot be used now
 * @throws StartupError
 */
export async function checkLaunch(launch: ServiceLaunch): Promise<readonly string[]> {
  const definition = await loadDefinition(launch)
  await validateSettings({ launch, definition, clock: systemClock, log: quiet })
  return probeOthers(launch, definition, false)
}

const ignore = (): void => undefined
/** Notices about accepted settings are written to the log of a start. */
const quiet: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => quiet }

/** @returns a sentence for each system of others that the settings name and that cannot be used now */
export async function probeOthers(
  { config, home, env }: Pick<ServiceLaunch, 'config' | 'home' | 'env'>,
  definition: ServiceDefinition<unknown, unknown>,
  isRunning: boolean,
): Promise<readonly string[]> {
  if (definition.probe === undefined) return []
  const { caFile, ...access } = readOutboundAccess(config, home, env)
  // The first start creates it; no other authority is trusted then.
  const known = caFile !== undefined && existsSync(caFile) ? caFile : undefined
  const outbound = createOutbound({ ...access, caFile: known })
  return definition.probe({ config, home, outbound, isRunning })
}

/** Certificates, keys and CRLs, as far as the start does not make them itself. */
function validateTls(check: SettingsCheck): void {
  const { launch, definition, clock, log } = check
  const { config, home } = launch
  const crls = openClientCrls(config, home, clock, log)
  if (config.plaintext_http) return
  const suites = chooseCiphers(config.tls_cipher_suites)
  if (!usesLocalAuthority(config, home) || isLocalAuthorityComplete(getLocalAuthorityOptions(check))) {
    createMaterialsReader(definition, config, home)()
    crls.read()
    return
  }
  requireAuthorities('clients_ca_cert_file', config, home)
  if (!hasOwnCertificate(config)) checkSuites(suites, ['ec'])
  else createTlsReader({ ...config, clients_ca_cert_file: undefined }, home, definition.name)()
  const { socket_server_rsa_cert_file: rsaCert, socket_server_rsa_key_file: rsaKey } = config
  const listensBeside = canRequireCertificates(config) && definition.socket?.(config) !== undefined
  if (listensBeside && rsaCert !== undefined && rsaKey !== undefined)
    readPair({
      certFile: inHome(home, rsaCert),
      keyFile: inHome(home, rsaKey),
      certSetting: 'socket_server_rsa_cert_file',
      keySetting: 'socket_server_rsa_key_file',
    })
  for (const { file, setting } of Object.values(definition.partners?.(config) ?? {}))
    readAuthorities(inHome(home, file), setting)
  if (config.clients_ca_cert_file === undefined) return
  if (existsSync(inHome(home, config.clients_ca_cert_file))) crls.read()
  else if (config.clients_crl_files.length > 0)
    throw new StartupError(
      'clients_crl_files: the authority in clients_ca_cert_file is created by the first start and has no CRL yet: remove this setting',
    )
}

/** @throws StartupError for a file that is not there, unless it is that of the local authority, which a start makes */
function requireAuthorities(
  setting: 'clients_ca_cert_file' | 'outbound_ca_file',
  config: RuntimeConfig,
  home: string,
): void {
  const path = config[setting]
  if (path === undefined) return
  const file = inHome(home, path)
  const isMade = file === join(home, 'tls', 'ca.crt') && usesLocalAuthority(config, home)
  if (!isMade || existsSync(file)) readAuthorities(file, setting)
}

/** @throws StartupError for a root key that cannot be read, or, if a start creates it, cannot be written */
async function requireRootKey(launch: ServiceLaunch): Promise<void> {
  const source = rootKeySource(launch)
  if (source.kind !== 'file' || existsSync(source.path)) return requireRootKeySource(launch)
  try {
    accessSync(dirname(source.path), constants.W_OK)
  } catch (error) {
    throw new StartupError(
      `cannot write the root key ${source.path}: ${describeWriteError(error as Error, source.path)}`,
    )
  }
}
