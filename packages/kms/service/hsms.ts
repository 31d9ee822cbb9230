import { MessageChannel } from 'node:worker_threads'
import { createOwnEvent } from '@warder/audit'
import { inHome, Secret, toFailure } from '@warder/base'
import {
  createHsms,
  type Hsm,
  type Hsms,
  listDueHsmKeys,
  removeDueHsmKeys,
  type Wrapping,
  type WrappingUse,
} from '@warder/keys'
import {
  connectSessions,
  type Sessions,
  serveSessions,
  Token,
  TokenError,
  TokenSessions,
} from '@warder/pkcs11'
import type { ServiceEnvironment, Shared } from '@warder/runtime'
import type { HealthPart } from '@warder/server'
import { type HsmConfig, readHsms, readWrapping } from './hsm-settings.ts'
import type { KmsConfig } from './settings.ts'

type Environment = Pick<ServiceEnvironment<KmsConfig>, 'config' | 'home' | 'log' | 'shared'>

/** HSMs that the settings of a checked start contain. */
function listHsms(config: KmsConfig): readonly HsmConfig[] {
  const read = readHsms(config)
  return typeof read === 'string' ? [] : read
}

/** The sessions of each token in this thread, by the name of the HSM; for each service by its settings. */
const opened = new WeakMap<KmsConfig, ReadonlyMap<string, Sessions>>()

function getSessions({ config, home, log, shared }: Environment): ReadonlyMap<string, Sessions> {
  const known = opened.get(config)
  if (known !== undefined) return known
  const connect = shared === undefined ? undefined : connectSessions(shared)
  const sessions = new Map(
    listHsms(config).map((hsm) => [hsm.name, connect?.(hsm.name) ?? openSessions(hsm, home, log)] as const),
  )
  opened.set(config, sessions)
  return sessions
}

/** The library is started when the HSM is used first. */
function openSessions(
  { library, token, pin, sessions }: HsmConfig,
  home: string,
  log?: Environment['log'],
): TokenSessions {
  const pinFile =
    'file' in pin ? inHome(home, pin.file) : { pin: Secret.fromText(pin.text), setting: pin.setting }
  return new TokenSessions({ library, token, pinFile, sessions, ...(log !== undefined && { log }) })
}

/** The HSMs, for the key ring of this thread; undefined: the settings contain none. */
export function getHsms(
  environment: Environment & Pick<ServiceEnvironment<KmsConfig>, 'audit' | 'clock'>,
): Hsms | undefined {
  const configured = listHsms(environment.config)
  if (configured.length === 0) return undefined
  const sessions = getSessions(environment)
  return createHsms(
    configured.flatMap(({ name, admins }): readonly Hsm[] => {
      const own = sessions.get(name)
      return own === undefined ? [] : [{ name, admins, token: new Token(own) }]
    }),
    getWrapping(environment, configured),
  )
}

function getWrapping(
  { config, audit, clock }: Pick<ServiceEnvironment<KmsConfig>, 'config' | 'audit' | 'clock'>,
  configured: readonly HsmConfig[],
): Wrapping {
  const rules = readWrapping(config, configured)
  return {
    rules: typeof rules === 'string' ? [] : rules,
    async record({ operation, key, object, error }: WrappingUse) {
      const { status, kind } = error === undefined ? { status: 200, kind: undefined } : toFailure(error)
      const event = {
        ...createOwnEvent(clock.now(), `crypto.hsm.${operation}`),
        ...{ object, details: { wrapping_key: key } },
        ...(kind !== undefined && { outcome: 'failure' as const, status, reason: kind }),
      }
      if (audit.mode === 'reject') await audit.recordDurably(event)
      else audit.record(event)
    },
  }
}

/** Closes the tokens that this thread opened. */
export async function closeHsms({ config }: Pick<Environment, 'config'>): Promise<void> {
  const sessions = opened.get(config)
  opened.delete(config)
  await Promise.all([...(sessions?.values() ?? [])].map((one) => one.close()))
}

/**
 * The sessions of the primary, which the workers share: one process of each library, one attempt with a wrong PIN. Opens the
 * tokens, which a start does not wait for.
 */
export function shareHsms(environment: ServiceEnvironment<KmsConfig>): Shared | undefined {
  if (listHsms(environment.config).length === 0) return undefined
  const sessions = getSessions(environment)
  for (const [hsm, one] of sessions) void reportToken(environment, hsm, one)
  environment.metrics.collected('hsm_available', {
    type: 'gauge',
    help: '1 = the token of the HSM can be used.',
    label: 'hsm',
    read: async () => Object.fromEntries(await Promise.all([...sessions].map(readAvailability))),
  })
  return {
    connect() {
      const { port1, port2 } = new MessageChannel()
      serveSessions((name) => sessions.get(name), port1)
      return port2
    },
    close: () => closeHsms(environment),
  }
}

async function reportToken(
  { log }: ServiceEnvironment<KmsConfig>,
  hsm: string,
  sessions: Sessions,
): Promise<void> {
  try {
    await sessions.connect()
    const { label, manufacturer, model, serial, slot } = sessions.info ?? {}
    log.info({ hsm, label, manufacturer, model, serial, slot }, 'the HSM is open')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.error(
      { hsm, reason },
      'the HSM cannot be used: its keys are unavailable, all others are not affected',
    )
  }
}

async function readAvailability([hsm, sessions]: readonly [string, Sessions]): Promise<[string, number]> {
  return [hsm, (await isUsable(sessions)) ? 1 : 0]
}

/** Time limit of a check of a token: a health check must not wait for a library that hangs. */
const probeWithinMs = 1_000

async function isUsable(sessions: Sessions): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), probeWithinMs)
  const answers = sessions.request('random', { bytes: 1 }).then(
    () => true,
    // A token that has no random number generator answers with an error, and is available nevertheless.
    (error: unknown) => error instanceof TokenError && ['not_supported', 'token_error'].includes(error.code),
  )
  return Promise.race([answers, late]).finally(() => clearTimeout(timer))
}

/** The part of `/health` that shows HSMs that are unavailable; other keys can still be used. */
export function hsmHealth(environment: Environment): readonly HealthPart[] {
  if (listHsms(environment.config).length === 0) return []
  const sessions = getSessions(environment)
  return [
    {
      key: 'hsm',
      name: [...sessions.keys()].join(', '),
      required: false,
      message: 'An HSM cannot be used: its keys are unavailable.',
      async probe() {
        const states = await Promise.all([...sessions].map(readAvailability))
        const away = states.filter(([, usable]) => usable === 0).map(([name]) => name)
        if (away.length > 0) throw new Error(`the HSM ${away.join(', ')} cannot be used`)
      },
    },
  ]
}

/** An HSM in the reply of `/server-info`, in the form of the deployed servers. */
export async function describeHsms(environment: Environment) {
  const sessions = getSessions(environment)
  return Promise.all(
    listHsms(environment.config).map(async ({ name, model, token }) => {
      const own = sessions.get(name)
      const accessible = own !== undefined && (await isUsable(own))
      return {
        prefix: `hsm::${name}`,
        model,
        slots: [{ slot_id: own?.info?.slot ?? ('slot' in token ? token.slot : null), accessible }],
      }
    }),
  )
}

/** Opens each token, for the command that checks a start. @returns a sentence for each that cannot be used */
export async function probeHsms({
  config,
  home,
}: {
  readonly config: KmsConfig
  readonly home: string
}): Promise<readonly string[]> {
  const problems = await Promise.all(
    listHsms(config).map(async (hsm) => {
      try {
        const sessions = openSessions(hsm, home)
        try {
          await sessions.connect()
        } finally {
          await sessions.close()
        }
        return undefined
      } catch (error) {
        return `the HSM ${hsm.name} cannot be used: ${error instanceof Error ? error.message : error}`
      }
    }),
  )
  return problems.filter((problem) => problem !== undefined)
}

/** Whether keys of destroyed objects are still in an HSM. */
export async function isHsmKeyDue({ config, db, clock }: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  return listHsms(config).length > 0 && (await listDueHsmKeys(db, clock.now(), 1)).length > 0
}

/** Removes the keys of destroyed objects from their HSMs. */
export async function removeHsmKeys(environment: ServiceEnvironment<KmsConfig>): Promise<void> {
  const { db, clock, log } = environment
  const hsms = getHsms(environment)
  if (hsms !== undefined) await removeDueHsmKeys({ db, hsms, log }, clock.now())
}
