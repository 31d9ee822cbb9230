import type { WrappingRule } from '@warder/keys'
import { choice, list, optionalText, type SettingValues } from '@warder/runtime/settings'

/** Libraries of the models that `hsm_model` names, where their packages install them. */
const libraries = {
  proteccio: '/lib/libnethsm.so',
  crypt2pay: '/lib/libpkcs11c2p.so',
  utimaco: '/lib/libcs_pkcs11_R3.so',
  softhsm2: '/usr/lib/softhsm/libsofthsm2.so',
  smartcardhsm: '/usr/local/lib/libsc-hsm-pkcs11.so',
  other: '/lib/libkmshsm.so',
} as const
const models = Object.keys(libraries) as (keyof typeof libraries)[]
type Model = (typeof models)[number]

/** An HSM of the settings. */
export interface HsmConfig {
  readonly name: string
  readonly library: string
  readonly token: { readonly label: string } | { readonly slot: number }
  /** The PIN file, or the PIN itself. */
  readonly pin: { readonly file: string } | { readonly text: string; readonly setting: string }
  readonly admins: readonly string[]
  readonly sessions: number
  /** For `/server-info`. */
  readonly model: string
}

const defaultSessions = 4
const maxSessions = 32
const maxHsms = 16

export const hsmSettings = {
  hsm: list({
    default: [],
    tables: true,
    secret: true,
    separator: /[;\n]/,
    docs: 'HSMs whose keys are used here: tables `[[hsm]]` with `name` (as in identifiers `hsm::NAME::LABEL`), `library` (PKCS#11), `token_label` or `slot`, `pin_file` (or `pin`), `admins` (users who may create and register keys in it; `*` = all) and `sessions` (1 to 32, default 4). As a string: the table as JSON.',
    check: (texts) => findProblem(texts),
  }),
  hsm_wrapping: list({
    default: [],
    tables: true,
    separator: /[;\n]/,
    docs: 'AES keys in HSMs that wrap the secret material of objects in the database: tables `[[hsm_wrapping]]` with `key` (`hsm::NAME::LABEL`), and `tags` or `owners` of the objects, or both, of which one each must fit; without them: all objects. The first table that fits an object applies. Objects that exist are rewrapped in the background. As a string: the table as JSON.',
    check: (texts) => findRuleProblem(texts),
  }),
  key_encryption_key: optionalText({
    docs: 'The AES key in an HSM (`hsm::NAME::LABEL`) that wraps the secret material of all objects to which no table of `hsm_wrapping` applies.',
  }),
  hsm_model: choice({
    default: 'proteccio',
    choices: models,
    docs: 'Model of the HSM that has the slots of `hsm_slot`. It determines the path of the library; for a library elsewhere use `[[hsm]]`.',
  }),
  hsm_slot: list({
    default: [],
    docs: 'Numbers of slots of the HSM `hsm_model`; their keys are `hsm::SLOT::LABEL`.',
    check: slotProblem,
  }),
  hsm_password: list({
    default: [],
    secret: true,
    docs: 'PINs of the slots of `hsm_slot`, in the same order. `[[hsm]]` reads PINs from files.',
  }),
  hsm_admin: list({
    default: ['admin'],
    single: true,
    docs: 'Users who may create and register keys in the slots of `hsm_slot`; `*` = all.',
  }),
  hsm_instances: list({
    default: [],
    tables: true,
    secret: true,
    separator: /[;\n]/,
    docs: 'Several HSMs: tables `[[hsm_instances]]` with `hsm_model`, `hsm_slot`, `hsm_password` and `hsm_admin`; their keys are `hsm::MODEL::SLOT::LABEL`, those of a second HSM of one model `hsm::MODEL_1::SLOT::LABEL`. As a string: the table as JSON.',
    check(texts) {
      const read = readInstances(texts)
      return typeof read === 'string' ? read : undefined
    },
  }),
} as const

type HsmSettings = SettingValues<typeof hsmSettings>

function slotProblem(slots: readonly string[]): string | undefined {
  return slots.every((slot) => /^\d{1,10}$/.test(slot)) ? undefined : 'must contain numbers of slots'
}

/**
 * All HSMs of the settings.
 * @returns a sentence when the settings contradict each other
 */
export function readHsms(config: HsmSettings): readonly HsmConfig[] | string {
  const own = config.hsm.map(readHsm)
  const wrong = own.find((one) => typeof one === 'string')
  if (wrong !== undefined) return `hsm: ${wrong}`
  const { hsm_model, hsm_slot, hsm_password, hsm_admin } = config
  const slots = readSlots({ model: hsm_model, slots: hsm_slot, pins: hsm_password, admins: hsm_admin }, '')
  if (typeof slots === 'string') return slots
  const instances = readInstances(config.hsm_instances)
  if (typeof instances === 'string') return `hsm_instances: ${instances}`
  const all = [...(own as HsmConfig[]), ...slots, ...instances]
  const twice = all.find(({ name }, index) => all.findIndex((one) => one.name === name) !== index)
  if (twice !== undefined) return `two HSMs have the name ${twice.name}`
  return all.length > maxHsms
    ? `the settings contain ${all.length} HSMs, at most ${maxHsms} are supported`
    : all
}

function findProblem(texts: readonly string[]): string | undefined {
  for (const [index, text] of texts.entries()) {
    const read = readHsm(text)
    if (typeof read === 'string') return `HSM ${index + 1}: ${read}`
  }
  return undefined
}

const members = ['name', 'library', 'token_label', 'slot', 'pin_file', 'pin', 'admins', 'sessions'] as const

/** @returns the HSM, or the error in its table */
function readHsm(text: string): HsmConfig | string {
  const table = readTable(text, members)
  if (typeof table === 'string') return table
  const { name, library, token_label: label, slot, pin_file: file, pin, admins, sessions } = table
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name))
    return 'name: must have 1 to 64 letters, digits, dots, dashes and underscores'
  if (typeof library !== 'string' || library === '') return 'library: must be the path of a PKCS#11 library'
  const token = readToken(label, slot)
  if (typeof token === 'string') return token
  if ((typeof file === 'string') === (typeof pin === 'string')) return 'requires either pin_file or pin'
  const users = readTexts(admins ?? [])
  if (users === undefined) return 'admins: must be an array of users'
  const count = sessions ?? defaultSessions
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > maxSessions)
    return `sessions: must be an integer from 1 to ${maxSessions}`
  return {
    ...{ name, library, token, admins: users, sessions: count, model: 'pkcs11' },
    pin: typeof file === 'string' ? { file } : { text: String(pin), setting: `pin of the HSM ${name}` },
  }
}

function readToken(label: unknown, slot: unknown): HsmConfig['token'] | string {
  const wrong = 'requires either token_label, of at most 32 bytes, or slot, a number'
  if ((label === undefined) === (slot === undefined)) return wrong
  if (typeof label === 'string') return Buffer.byteLength(label) <= 32 && label !== '' ? { label } : wrong
  const number = Number(slot)
  return label === undefined && Number.isSafeInteger(number) && number >= 0 ? { slot: number } : wrong
}

const ruleMembers = ['key', 'tags', 'owners'] as const
const maxRules = 64

function findRuleProblem(texts: readonly string[]): string | undefined {
  if (texts.length > maxRules) return `contains ${texts.length} tables, at most ${maxRules} are supported`
  for (const [index, text] of texts.entries()) {
    const read = readRule(text)
    if (typeof read === 'string') return `table ${index + 1}: ${read}`
  }
  return undefined
}

/** @returns the rule, or the error in its table */
function readRule(text: string): WrappingRule | string {
  const table = readTable(text, ruleMembers)
  if (typeof table === 'string') return table
  const { key, tags = [], owners = [] } = table
  if (typeof key !== 'string') return 'key: must be the identifier of an AES key in an HSM, hsm::NAME::LABEL'
  for (const [name, value] of Object.entries({ tags, owners }))
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string' && item !== ''))
      return `${name}: must be an array of texts`
  return { key, tags: tags as readonly string[], owners: owners as readonly string[] }
}

/**
 * The keys in HSMs that wrap material, the default last.
 * @param hsms of the settings
 * @returns a sentence for a key in an HSM that the settings do not contain
 */
export function readWrapping(
  config: Pick<HsmSettings, 'hsm_wrapping' | 'key_encryption_key'>,
  hsms: readonly HsmConfig[],
): readonly WrappingRule[] | string {
  const { hsm_wrapping: texts, key_encryption_key: last } = config
  const rules: WrappingRule[] = []
  for (const [index, text] of texts.entries()) {
    const read = readRule(text)
    if (typeof read === 'string') return `hsm_wrapping: table ${index + 1}: ${read}`
    rules.push(read)
  }
  if (last !== undefined) rules.push({ key: last, tags: [], owners: [] })
  for (const [index, { key }] of rules.entries()) {
    const setting = index < texts.length ? `hsm_wrapping: table ${index + 1}: key` : 'key_encryption_key'
    const isKnown = hsms.some(({ name }) => key.startsWith(`hsm::${name}::`) && key.length > name.length + 7)
    if (!isKnown)
      return `${setting}: ${key} is in none of the HSMs of the settings: use hsm::NAME::LABEL, with a name of [[hsm]]`
  }
  return rules
}

const instanceMembers = ['hsm_model', 'hsm_slot', 'hsm_password', 'hsm_admin'] as const

function readInstances(texts: readonly string[]): readonly HsmConfig[] | string {
  const found: HsmConfig[] = []
  const counts = new Map<string, number>()
  for (const [index, text] of texts.entries()) {
    const table = readTable(text, instanceMembers)
    if (typeof table === 'string') return `HSM ${index + 1}: ${table}`
    const { hsm_model: model, hsm_slot: slot, hsm_password: password, hsm_admin: admin = ['admin'] } = table
    const known = models.find((name) => name === model)
    if (known === undefined) return `HSM ${index + 1}: hsm_model must be ${models.join(', ')}`
    const [slots, pins, admins] = [readTexts(slot), readTexts(password), readTexts(admin)]
    if (slots === undefined || pins === undefined || admins === undefined)
      return `HSM ${index + 1}: hsm_slot, hsm_password and hsm_admin must be arrays`
    const before = counts.get(known) ?? 0
    counts.set(known, before + 1)
    const prefix = `${known}${before === 0 ? '' : `_${before}`}::`
    const read = readSlots({ model: known, slots, pins, admins }, prefix)
    if (typeof read === 'string') return `HSM ${index + 1}: ${read}`
    found.push(...read)
  }
  return found
}

/** One HSM for each slot. */
function readSlots(
  instance: {
    readonly model: Model
    readonly slots: readonly string[]
    readonly pins: readonly string[]
    readonly admins: readonly string[]
  },
  prefix: string,
): readonly HsmConfig[] | string {
  const { model, slots, pins, admins } = instance
  if (slots.length !== pins.length)
    return `hsm_slot and hsm_password must have the same length (${slots.length} and ${pins.length})`
  const problem = slotProblem(slots)
  if (problem !== undefined) return `hsm_slot ${problem}`
  return slots.map((slot, index) => ({
    ...{ name: `${prefix}${slot}`, library: libraries[model], token: { slot: Number(slot) }, admins },
    ...{ sessions: defaultSessions, model },
    pin: { text: pins[index] ?? '', setting: 'hsm_password' },
  }))
}

/** One text or number, or an array of them. */
function readTexts(value: unknown): readonly string[] | undefined {
  const items: unknown[] = Array.isArray(value) ? value : [value]
  return items.every((item) => typeof item === 'string' || typeof item === 'number')
    ? items.map(String)
    : undefined
}

/** @returns the members of a table, or the error in it */
function readTable<const Name extends string>(
  text: string,
  names: readonly Name[],
): Readonly<Partial<Record<Name, unknown>>> | string {
  let table: unknown
  try {
    table = JSON.parse(text)
  } catch {
    return 'must be a table'
  }
  if (typeof table !== 'object' || table === null || Array.isArray(table)) return 'must be a table'
  const unknown = Object.keys(table).find((name) => !(names as readonly string[]).includes(name))
  return unknown === undefined
    ? (table as Partial<Record<Name, unknown>>)
    : `${unknown}: is unknown; the table may contain ${names.join(', ')}`
}
