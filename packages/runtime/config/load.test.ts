import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError } from '@warder/base'
import { formatDefaultToml, formatSettingsHelp, formatSettingsReference } from './documents.ts'
import { foundationSettings } from './foundation-settings.ts'
import { loadConfig } from './load.ts'
import { boolean, choice, integer, list, optionalText } from './setting.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-config-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'kms.toml')

const table = {
  rate_limit_per_second: integer({ default: 10, min: 1, max: 100, docs: 'Rate.' }),
  mode: choice({ default: 'continue', choices: ['continue', 'reject'], docs: 'Mode.' }),
  enabled: boolean({ default: true, docs: 'Switch.' }),
  origins: list({ default: [], docs: 'Origins.' }),
  issuers: list({ default: [], separator: /[;\n]/, docs: 'Issuers.' }),
  'roles.crypto_officer_users': list({ default: [], docs: 'Officers.' }),
  password: { type: 'secret', default: undefined, docs: 'Secret.' } as const,
  name: optionalText({
    docs: 'Name.',
    env: 'SPECIAL_NAME',
    check: (text) => (text === 'bad' ? 'must not be bad' : undefined),
  }),
}

function load(text: string | undefined, env: Record<string, string> = {}, args: readonly string[] = []) {
  if (text === undefined) rmSync(file, { force: true })
  else writeFileSync(file, text)
  return loadConfig({ service: 'kms', table, file, env, args })
}

function assertRefused(
  line: RegExp,
  text: string | undefined,
  env: Record<string, string> = {},
  args: readonly string[] = [],
): void {
  assert.throws(
    () => load(text, env, args),
    (error: unknown) => {
      assert.ok(error instanceof StartupError, String(error))
      assert.match(error.message, line)
      assert.ok(!error.message.includes('\n'))
      return true
    },
  )
}

test('a flag comes before an environment variable, that before the file, that before the default', () => {
  assert.equal(load(undefined).values.rate_limit_per_second, 10)
  const text = 'rate_limit_per_second = 20\n'
  assert.equal(load(text).values.rate_limit_per_second, 20)
  assert.equal(load(text, { KMS_RATE_LIMIT_PER_SECOND: '30' }).values.rate_limit_per_second, 30)
  const all = load(text, { KMS_RATE_LIMIT_PER_SECOND: '30' }, ['--rate-limit-per-second', '40'])
  assert.equal(all.values.rate_limit_per_second, 40)
  assert.equal(all.provenance.rate_limit_per_second, 'flag')
})

test('sections, lists, switches and variables with a name of their own are read', () => {
  const { values } = load(
    '[roles]\ncrypto_officer_users = ["a", "b"]\n',
    { KMS_ORIGINS: 'x, y', SPECIAL_NAME: 'n' },
    ['--no-enabled'],
  )
  assert.deepEqual(values['roles.crypto_officer_users'], ['a', 'b'])
  assert.deepEqual(values.origins, ['x', 'y'])
  assert.deepEqual(load('origins = [2048, "3072"]\n').values.origins, ['2048', '3072'])
  assert.equal(values.enabled, false)
  assert.equal(values.name, 'n')
  assert.deepEqual(
    load(undefined, {}, ['--roles-crypto-officer-users=c']).values['roles.crypto_officer_users'],
    ['c'],
  )
})

test('where commas belong to the items, a variable and a flag have another separator', () => {
  const items = ['https://a,https://a/keys,https://kms', 'https://b']
  assert.deepEqual(load(`issuers = ${JSON.stringify(items)}\n`).values.issuers, items)
  for (const text of [items.join(';'), `${items.join(' ; ')};`, `${items.join('\n')}\n`]) {
    assert.deepEqual(load(undefined, { KMS_ISSUERS: text }).values.issuers, items)
    assert.deepEqual(load(undefined, {}, ['--issuers', text]).values.issuers, items)
  }
})

test('an unknown setting is named with file and line, and the nearest name', () => {
  assertRefused(
    /kms\.toml:3: unknown setting 'rate_limit_per_secnd'; did you mean rate_limit_per_second\?/,
    '# c\n\nrate_limit_per_secnd = 5\n',
  )
  assertRefused(/kms\.toml:2: unknown setting 'roles.officers'/, '[roles]\nofficers = []\n')
  assertRefused(/unknown flag '--mod'; did you mean --mode\?/, undefined, {}, ['--mod', 'x'])
  assertRefused(/unknown flag 'stray'/, undefined, {}, ['stray'])
})

test('a bad value is named with its place and what it must be', () => {
  assertRefused(
    /kms\.toml:1: rate_limit_per_second must be an integer from 1 to 100 \(got "abc"\)/,
    'rate_limit_per_second = "abc"\n',
  )
  assertRefused(
    /kms\.toml:4: mode must be continue or reject \(got "x"\)/,
    'origins = [\n "a",\n]\nmode = "x"\n',
  )
  for (const text of ['0', '101', '1e1', '0x10', '1.5', ' 5', '٣', '']) {
    if (text !== '')
      assertRefused(/KMS_RATE_LIMIT_PER_SECOND must be an integer/, undefined, {
        KMS_RATE_LIMIT_PER_SECOND: text,
      })
  }
  assertRefused(/--enabled must be true or false/, undefined, {}, ['--enabled=yes'])
  assertRefused(/must not be bad/, 'name = "bad"\n')
  assertRefused(/kms\.toml:2: /, 'mode = "continue"\nmode = "reject"\n')
  assertRefused(/--mode needs a value/, undefined, {}, ['--mode'])
})

test('the value of a secret setting is never shown', () => {
  assert.throws(
    () => load('password = 12345\n'),
    (error: unknown) => error instanceof Error && !error.message.includes('12345'),
  )
})

test('variables with the prefix that mean nothing are warned about', () => {
  const { warnings } = load(undefined, { KMS_MODEE: 'x', OTHER: 'y' })
  assert.deepEqual(warnings.length, 1)
  assert.match(warnings[0] ?? '', /KMS_MODEE is not a setting of kms; did you mean KMS_MODE\?/)
})

test('contradicting settings stop the start with their sentence', () => {
  assert.throws(
    () =>
      loadConfig({
        service: 'kms',
        table,
        file: join(folder, 'absent.toml'),
        env: {},
        args: [],
        contradictions: [(values) => (values.enabled ? 'enabled and nothing else' : undefined)],
      }),
    /enabled and nothing else/,
  )
})

test('the printed default configuration loads to the defaults, commented or not', () => {
  for (const service of ['notes', 'mail']) {
    const settings = foundationSettings({ name: service, port: 8443, bodyLimitBytes: 1_048_576 })
    const text = formatDefaultToml(service, settings)
    writeFileSync(file, text)
    const options = { service, table: settings, file, env: {}, args: [] } as const
    const { values, provenance } = loadConfig(options)
    assert.ok(Object.values(provenance).every((from) => from === 'default'))
    const set = Object.entries(settings).filter(([, setting]) => setting.default !== undefined)
    writeFileSync(
      file,
      text.replaceAll(/^# ([a-z_]+ = )/gm, (line, rest: string) =>
        set.some(([key]) => rest === `${key.slice(key.lastIndexOf('.') + 1)} = `) ? rest : line,
      ),
    )
    const uncommented = loadConfig(options)
    assert.deepEqual(uncommented.values, values)
    assert.ok(set.every(([key]) => uncommented.provenance[key] === 'file'))
  }
})

test('help and reference name every setting with its variable and flag', () => {
  const settings = foundationSettings({ name: 'kms', port: 9998, bodyLimitBytes: 1_048_576 })
  for (const text of [formatSettingsHelp('kms', settings), formatSettingsReference('kms', settings)]) {
    for (const name of ['--tls-cipher-suites', 'KMS_RATE_LIMIT_PER_SECOND', 'KMS_PORT'])
      assert.ok(text.includes(name), name)
  }
})

test('a node name with control characters is refused by name', () => {
  const table = foundationSettings({ name: 'kms', port: 9998, bodyLimitBytes: 1_048_576 })
  const load = (name: string) =>
    loadConfig({ service: 'kms', table, file: '/nowhere/kms.toml', env: { KMS_NODE_NAME: name }, args: [] })
  for (const name of ['a\nb', '\u001b[31m', 'a\u009b', 'a'.repeat(257)])
    assert.throws(
      () => load(name),
      /KMS_NODE_NAME must have at most 256 characters, and no control characters/,
    )
  assert.equal(load('kms-1').values.node_name, 'kms-1')
})
