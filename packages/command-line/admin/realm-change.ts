import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import { toFileRefused } from '../files.ts'
import { printable } from '../terminal/table.ts'

/** A realm, in the form of the API. */
export interface Realm {
  readonly id: string
  readonly auth_params: Readonly<Record<string, unknown>>
  readonly session_max_age_seconds: number
  readonly session_max_stale_age_seconds: number
  readonly certificate_max_age_seconds: number
}

/** Login methods: their names in the command, and their members of `auth_params`. */
export const methods = {
  password: { member: 'username_password_params', label: 'password' },
  passkey: { member: 'fido2_params', label: 'passkey' },
  jwt: { member: 'jwt_params', label: 'JWT' },
  certificate: { member: 'client_certificate_params', label: 'certificate' },
  saml: { member: 'saml_params', label: 'SAML' },
} as const
export type Method = keyof typeof methods

/** Settings for methods without settings of their own: a password that must be changed does not open a session. */
const defaultSettings: Readonly<Partial<Record<Method, object>>> = {
  password: { allow_expired_passwords: false },
  passkey: {},
  certificate: {},
}

/** Formats the login methods of a realm: `password, SAML`. */
export function formatMethods({ auth_params: params }: Pick<Realm, 'auth_params'>): string {
  return Object.values(methods)
    .flatMap(({ member, label }) => ((params[member] ?? null) === null ? [] : [label]))
    .join(', ')
}

export const settingOptions = {
  login: {
    type: 'list',
    value: 'METHOD',
    help: 'accepts this login method: password, passkey or certificate; repeatable',
  },
  'jwt-provider': {
    type: 'list',
    value: 'ISSUER,JWKS[,AUDIENCE]',
    help: `accepts tokens of this identity provider: its iss, the https address of its keys, and aud;
repeatable`,
  },
  'session-seconds': { type: 'number', value: 'S', help: 'maximum age of a session (new realm: 28800)' },
  'idle-seconds': {
    type: 'number',
    value: 'S',
    help: 'a session ends if it is not used for this time (new realm: 1800)',
  },
  'certificate-seconds': {
    type: 'number',
    value: 'S',
    help: 'maximum age of certificates for keys of users (new realm: one year)',
  },
  settings: {
    type: 'text',
    value: 'FILE',
    help: `JSON with members of the API: {"auth_params": {…}, …}; a method that is null is disabled
(- is standard input)`,
  },
} as const

/** Changes to a realm, from the options. */
export interface RealmChange {
  readonly auth_params: Readonly<Record<string, unknown>>
  readonly members: Readonly<Record<string, unknown>>
  /** Enabled with default settings, unless they have settings already. */
  readonly enabled: readonly Method[]
}

/** @throws UsageError, StartupError for a file that cannot be used */
export function readChange(id: string, values: ValuesOf<typeof settingOptions>): RealmChange {
  const enabled = values.login.map((name) =>
    readMethod('login', name, ['password', 'passkey', 'certificate']),
  )
  const providers = values['jwt-provider'].map(readProvider)
  const file = values.settings === undefined ? {} : readSettings(values.settings, id)
  const { auth_params: params = {}, ...members } = file
  const ages = {
    session_max_age_seconds: values['session-seconds'],
    session_max_stale_age_seconds: values['idle-seconds'],
    certificate_max_age_seconds: values['certificate-seconds'],
  }
  return {
    enabled,
    auth_params: {
      ...(params as object),
      ...(providers.length > 0 && { jwt_params: { idp_params: providers } }),
    },
    members: {
      ...members,
      ...Object.fromEntries(Object.entries(ages).filter(([, seconds]) => seconds !== undefined)),
    },
  }
}

export function readMethod(option: string, name: string, allowed: readonly Method[]): Method {
  const method = allowed.find((each) => each === name)
  if (method !== undefined) return method
  throw new UsageError(`--${option} must be one of ${allowed.join(', ')}, not '${name}'`)
}

function readProvider(text: string): object {
  const [issuer = '', jwks = '', audience, ...rest] = text.split(',')
  if (issuer === '' || !jwks.startsWith('https://') || audience === '' || rest.length > 0)
    throw new UsageError(
      `--jwt-provider must be ISSUER,JWKS[,AUDIENCE]: https://idp.example,https://idp.example/keys,shop; not '${text}'`,
    )
  return { jwt_issuer_uri: issuer, jwks_uri: jwks, ...(audience !== undefined && { jwt_audience: audience }) }
}

function readSettings(file: string, id: string): Readonly<Record<string, unknown>> {
  const source = file === '-' ? 'standard input' : file
  let settings: unknown
  try {
    settings = JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new StartupError(`${source}: is not JSON: ${error.message}`)
    throw toFileRefused(error, source)
  }
  const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject(settings) || !isObject(settings.auth_params ?? {}))
    throw new StartupError(`${source}: must be a JSON object like that of warder admin show-realm --json`)
  const { id: named = id, ...rest } = settings
  if (named !== id) throw new StartupError(`${source}: its id is that of another realm than ${printable(id)}`)
  return rest
}

/** Applies a change to the stored settings, or to the defaults of a new realm. */
export function applyChange(
  before: Pick<Realm, 'id' | 'auth_params'>,
  { auth_params, members, enabled }: RealmChange,
): Realm {
  const added = Object.fromEntries(
    enabled.map((method) => [methods[method].member, defaultSettings[method] ?? {}]),
  )
  const given = Object.fromEntries(
    Object.entries({ ...before.auth_params, ...auth_params }).filter(([, value]) => value !== null),
  )
  return { ...before, ...members, auth_params: { ...added, ...given } } as Realm
}

/** Describes what differs between two states of a realm. */
export function describeChange(before: Realm, after: Realm): readonly string[] {
  const [from, to] = [formatMethods(before), formatMethods(after)]
  const changed = Object.keys(after.auth_params).filter(
    (member) =>
      member in before.auth_params &&
      JSON.stringify(before.auth_params[member]) !== JSON.stringify(after.auth_params[member]),
  )
  const { id: _, auth_params: __, ...others } = { ...before, ...after }
  const ages = Object.entries(others).flatMap(([name, value]) => {
    const old = (before as unknown as Readonly<Record<string, unknown>>)[name]
    return old === value ? [] : [printable(`${name} ${String(old)} -> ${String(value)}`)]
  })
  return [
    ...(from === to ? [] : [`login by ${from || 'no method'} -> ${to || 'no method'}`]),
    ...changed.map((member) => printable(`new ${member}`)),
    ...ages,
  ]
}
