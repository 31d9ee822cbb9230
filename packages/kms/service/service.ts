import { getFips } from 'node:crypto'
import { dueIssuers, renewablePage, sweepAcme } from '@warder/authority'
import { type Logger, StartupError } from '@warder/base'
import { externalPartners, refuseHalfStores } from '@warder/external-stores/settings'
import { refuseHalfMethods, sweepEndedSessions, warnOfMethods } from '@warder/identity'
import {
  dueRotations,
  isAnyRightChangePending,
  isAnyWaiting,
  isLookDue,
  lifeCycleChanges,
  listMisdatedRotations,
  lookEveryMs,
  overdueObjects,
  recordRights,
  requireAdoptable,
  stateAt,
  sweepRequests,
  sweepReservations,
  sweepUses,
  toGovernance,
} from '@warder/keys'
import { sweepDevices, sweepPending } from '@warder/kmip-server'
import { readFipsProvider, type ServiceDefinition, type ServiceEnvironment } from '@warder/runtime'
import { configuredPolicy } from './algorithm-settings.ts'
import { importLocalDevices, isLocalAuthorityChanged } from './devices.ts'
import { announceEnds, announcesEnds } from './ending-notices.ts'
import { followAuth, prepareEnded } from './follow-auth.ts'
import { adoptSettings, recordReset } from './governed.ts'
import { readHsms, readWrapping } from './hsm-settings.ts'
import { isWrappingDue, requireWrappingKeys, rewrapMaterial } from './hsm-wrapping.ts'
import { isHsmKeyDue, probeHsms, removeHsmKeys, shareHsms } from './hsms.ts'
import { rotationPolicy } from './key-life-settings.ts'
import { kmsCounters, listMetrics, objectMetrics } from './key-metrics.ts'
import { kmsMigrations } from './migrations.ts'
import { kmsNotices } from './notices.ts'
import type { KmsServices } from './operations.ts'
import { revocationConfig } from './pki-settings.ts'
import { onceServing, prepareRestored } from './restored.ts'
import { isRewrapDue, rewrapWhatIsStale } from './rewraps.ts'
import { approvalSettings, type KmsConfig, kmsSettings, officerSettings } from './settings.ts'

/** The key management service, as the runtime starts it. */
export const kmsService: ServiceDefinition<KmsConfig, KmsServices> = {
  name: 'kms',
  settings: kmsSettings,
  migrations: kmsMigrations,
  counters: kmsCounters,
  notices: kmsNotices,
  async check(environment) {
    const { config, log } = environment
    refuseContradictions(config)
    const hsms = readHsms(config)
    if (typeof hsms === 'string') throw new StartupError(hsms)
    const wrapping = readWrapping(config, hsms)
    if (typeof wrapping === 'string') throw new StartupError(wrapping)
    configuredPolicy(config)
    await warnOfPolicyNames(config, log)
    await refuseUnknownAlgorithm(config)
    // Loaded on demand: the code that reads the settings of callers belongs to the workers.
    const { checkIdentity } = await import('@warder/identity')
    await checkIdentity(environment)
    if (config['google_cse_config.google_cse_enable']) {
      const { checkGoogleSettings } = await import('@warder/external-stores')
      checkGoogleSettings(environment)
    }
    await logFipsProvider(config, log)
    warnOfMethods(config, log)
    warnOfNoRateLimit(config, log)
    if (config['roles.crypto_officer_users'].length > 0 && !config['roles.crypto_officer_require_ceremony']) {
      log.warn({}, 'the settings alone name the crypto officers: any user who can write them can become one')
    }
  },
  async checkStored({ config, now, database }) {
    await requireWrappingKeys({ config, database })
    if (database === undefined) return
    const governance = toGovernance(officerSettings(config), approvalSettings(config))
    await requireAdoptable({ ...database, now }, governance)
  },
  async probe(environment) {
    const { unusableProvider } = await import('@warder/identity')
    const problem = await unusableProvider(environment)
    // A running service reports its HSMs itself: a second login could lock a token.
    const hsms = environment.isRunning ? [] : await probeHsms(environment)
    return [...(problem === undefined ? [] : [problem]), ...hsms]
  },
  async prepare(environment) {
    await prepareEnded(environment)
    await recordReset(environment)
    const { isHeld, notices } = await prepareRestored(environment)
    await adoptSettings(environment, isHeld)
    return { notices }
  },
  measure(environment) {
    objectMetrics(environment)
    listMetrics(environment.metrics)
  },
  share: shareHsms,
  // Loaded by workers only: the primary needs neither the operations nor their dependencies.
  build: async (environment) => (await import('./build.ts')).build(environment),
  background: (environment) => followAuth(environment),
  socket: (config) =>
    config.socket_server_start
      ? { name: 'kmip', host: config.socket_server_hostname ?? config.host, port: config.socket_server_port }
      : undefined,
  // The primary loads KMIP only while it is sealed.
  sealedSocket: async (options) => (await import('./sealed-socket.ts')).createSealedSocket(options),
  partners: externalPartners,
  periodic: [
    { name: 'kms dates of keys', everySeconds: 60, run: persistDates },
    {
      name: 'kms keys and certificates that end',
      everySeconds: 600,
      due: announcesEnds,
      run: announceEnds,
    },
    { name: 'kms destructions that wait', everySeconds: lookEveryMs / 1000, due: waits, run: carryOut },
    { name: 'kms keys to remove from HSMs', everySeconds: 2, due: isHsmKeyDue, run: removeHsmKeys },
    { name: 'kms material that keys in HSMs wrap', everySeconds: 2, due: isWrappingDue, run: rewrapMaterial },
    { name: 'kms rotations of keys', everySeconds: 60, due: isRotationDue, run: rotateKeys },
    {
      name: 'kms objects of rotated wrapping keys',
      everySeconds: 60,
      due: isRewrapDue,
      run: rewrapWhatIsStale,
    },
    { name: 'kms revocation lists and responders', everySeconds: 2, due: isSigningDue, run: signWhatIsDue },
    { name: 'kms certificates that renew themselves', everySeconds: 300, due: isRenewable, run: renew },
    {
      name: 'kms certificates of the local authority',
      everySeconds: 5,
      due: isLocalAuthorityChanged,
      run: importLocalDevices,
    },
    { name: 'kms changes of rights', everySeconds: 2, due: isRightChanged, run: recordRights },
    { name: 'kms answers that nobody fetched, ended sessions', everySeconds: 300, run: forgetWhatIsOver },
  ].map(onceServing),
}

/** `fips` itself only limits the algorithms; whether a validated module executes them depends on OpenSSL. */
async function logFipsProvider(config: KmsConfig, log: Logger): Promise<void> {
  if (!config.fips) return
  if (getFips() === 1) log.info({ ...(await readFipsProvider()) }, "OpenSSL's FIPS provider is active")
  else log.warn({}, "fips only restricts the algorithms: OpenSSL's FIPS provider is not active")
}

/** Warns of endpoints that strangers may try again and again. */
function warnOfNoRateLimit(config: KmsConfig, log: Logger): void {
  if (config.rate_limit_per_second !== undefined) return
  const setting = { setting: 'rate_limit_per_second' }
  if (config.vault_api_enabled)
    log.warn(
      setting,
      'vault_api_enabled forwards logins of machines without authentication: set rate_limit_per_second',
    )
  if (config['roles.crypto_officer_require_ceremony'])
    log.warn(setting, 'attempts at ceremonies of crypto officers are not limited: set rate_limit_per_second')
}

async function warnOfPolicyNames(config: KmsConfig, log: Logger): Promise<void> {
  if (config['kmip.policy_id'] !== 'CUSTOM') return
  const { unknownNames } = await import('./policy-names.ts')
  for (const { list, name } of unknownNames(config))
    log.warn({ setting: `kmip.allowlists.${list}`, name }, 'unknown algorithm: this entry has no effect')
}

/** @throws StartupError for approvals of an algorithm that no key has: they would protect nothing */
async function refuseUnknownAlgorithm({ 'approvals.algorithms': names }: KmsConfig): Promise<void> {
  if (names.length === 0) return
  const { unknownKeyAlgorithm } = await import('./policy-names.ts')
  const unknown = unknownKeyAlgorithm(names)
  if (unknown !== undefined)
    throw new StartupError(
      `approvals.algorithms contains ${unknown}, which is not an algorithm of keys: use AES, HMAC, RSA, EC, Ed25519 … as in GET /v1/crypto/keys`,
    )
}

/** Combinations that cannot be meant. @throws StartupError */
function refuseContradictions(config: KmsConfig): void {
  if (config.force_default_username && config['roles.crypto_officer_users'].length > 0) {
    throw new StartupError(
      'force_default_username maps all callers to one user, so it cannot be used with roles.crypto_officer_users',
    )
  }
  refuseCeremonyOfFew(config)
  refuseUnsignedNotices(config)
  refuseHalfMethods(config)
  refuseHalfStores(config)
}

/** @throws StartupError for notices that their receiver could not verify */
function refuseUnsignedNotices(config: KmsConfig): void {
  const { 'approvals.webhook_url': url, 'approvals.webhook_secret': secret } = config
  if ((url === undefined) !== (secret === undefined))
    throw new StartupError('approvals requires both webhook_url and webhook_secret, or neither')
  if (secret !== undefined && secret.length < 32)
    throw new StartupError(
      'approvals.webhook_secret must have at least 32 characters: create one with openssl rand -hex 32',
    )
}

/** @throws StartupError for a ceremony with fewer than three possible users, or a quorum that cannot be reached */
function refuseCeremonyOfFew(config: KmsConfig): void {
  const { users, requireCeremony, quorum } = officerSettings(config)
  const listed = new Set(users).size
  if (requireCeremony && listed < 3)
    throw new StartupError(
      `roles.crypto_officer_require_ceremony requires at least 3 users in roles.crypto_officer_users (there are ${listed})`,
    )
  if (config['approvals.operations'].length > 0 && listed < 3)
    throw new StartupError(
      `approvals.operations requires at least 3 users in roles.crypto_officer_users (there are ${listed}), because no officer can approve their own request`,
    )
  if (quorum !== undefined && (listed === 0 || quorum > listed))
    throw new StartupError(
      `roles.ceremony_quorum is ${quorum}, but roles.crypto_officer_users has only ${listed}: no operation could reach the quorum`,
    )
}

const overduePerRun = 1000

/** Stores the states that result from dates; `stateAt` applies them before that. */
async function persistDates({ db, clock, log }: ServiceEnvironment<KmsConfig>): Promise<void> {
  const now = clock.now()
  for (const object of await overdueObjects(db, now, overduePerRun)) {
    const state = stateAt(object, now)
    await db.commit(lifeCycleChanges(db, object, { ...object, state }, now)).catch((error: unknown) => {
      // The object was changed meanwhile: the next run checks it again.
      log.debug({ object: object.id, detail: String(error) }, 'a state could not be stored')
    })
  }
}

/** Requests for approval are shown for a month after their end; the audit log has them for ever. */
const approvalsKeptMs = 30 * 86_400_000
/** Reads one index entry: usually no signature is due, and the signing code is not loaded. */
async function isSigningDue({ db, clock, config }: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  return (await dueIssuers(db, revocationConfig(config), clock.now(), 1)).length > 0
}

/** Signs the revocation lists and certifies the responders that are due, in the primary: no request waits for it. */
async function signWhatIsDue(environment: ServiceEnvironment<KmsConfig>): Promise<void> {
  const { getMaintenance } = await import('./background-services.ts')
  await getMaintenance(environment).run(environment.clock.now())
}

async function isRotationDue({ config, db, clock }: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  const now = clock.now()
  if ((await dueRotations(db, now, 1)).length > 0 || (await listMisdatedRotations(db, now, 1)).length > 0)
    return true
  return isLookDue(db, rotationPolicy(config), now)
}

/** Rotates by time and by use, in the node that has the lease. */
async function rotateKeys(environment: ServiceEnvironment<KmsConfig>): Promise<void> {
  const { rotateWhatIsDue } = await import('./rotations.ts')
  await rotateWhatIsDue(environment)
}

async function forgetWhatIsOver({ db, clock }: ServiceEnvironment<KmsConfig>): Promise<void> {
  const now = clock.now()
  const sweeps = [
    sweepPending(now),
    sweepEndedSessions(now),
    sweepUses(now),
    ...sweepDevices(now),
    ...(await sweepReservations(db)),
    ...sweepAcme(now),
  ]
  await db.commit([...sweeps, ...sweepRequests(now - approvalsKeptMs)])
}

function isRightChanged({ db }: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  return isAnyRightChangePending(db)
}

function waits({ db }: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  return isAnyWaiting(db)
}

async function carryOut(environment: ServiceEnvironment<KmsConfig>): Promise<void> {
  const { carryOutDestructions } = await import('./destructions.ts')
  await carryOutDestructions(environment)
}

function isRenewable({ db }: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  return renewablePage(db, '', 1).then((page) => page.length > 0)
}

/** Loads the renewal of certificates, if any are renewed automatically. */
async function renew(environment: ServiceEnvironment<KmsConfig>): Promise<void> {
  const { renewDue } = await import('@warder/authority')
  const { getRenewalServices } = await import('./background-services.ts')
  await renewDue({ services: getRenewalServices(environment), now: environment.clock.now() })
}
