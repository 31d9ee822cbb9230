import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCommandFixture } from '../testing/in-process.ts'

const fixture = await startCommandFixture([], { KMS_PENDING_DESTRUCTION_DAYS_BY: 'tag:waits=7' })
const { run } = fixture
const ok = (...words: readonly string[]) => fixture.output(words)
const fails = (words: readonly string[], told: RegExp, code = 1) => fixture.fails(words, told, {}, code)

const newKey = async (...words: readonly string[]): Promise<string> =>
  JSON.parse(await ok('keys', 'create', '--alg', 'A256GCM', '--json', ...words)).kid

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const listed = async (...words: readonly string[]): Promise<readonly string[]> =>
  JSON.parse(await ok('keys', 'list', '--json', ...words)).keys.map(({ kid }: { kid: string }) => kid)

test('the dates of a key are set, shown, found by the list, and taken away', async () => {
  const kid = await newKey('--tag', 'dated')
  await ok('keys', 'set-dates', kid, '--protect-stop', inDays(10), '--end', inDays(20))
  const shown = await ok('keys', 'show', kid)
  assert.match(shown, new RegExp(`^protects until +${inDays(10)}T00:00:00`, 'm'))
  assert.match(shown, new RegExp(`^ends +${inDays(20)}T00:00:00`, 'm'))
  assert.deepEqual(await listed('--tag', 'dated', '--expiring', '30d'), [kid])
  assert.deepEqual(await listed('--tag', 'dated', '--expiring', '2w'), [])
  assert.match(await ok('keys', 'list', '--tag', 'dated'), new RegExp(` ${inDays(20)} +never +dated$`, 'm'))
  await ok('keys', 'set-dates', kid, '--end', 'none', '--protect-stop', 'none')
  assert.doesNotMatch(await ok('keys', 'show', kid), /^ends|^protects until/m)
})

test('a date that is wrong is told by the option that it stands behind', async () => {
  const kid = await newKey()
  await fails(
    ['keys', 'set-dates', kid, '--end', 'tomorrow'],
    /--end must be a date or a time, .*; not 'tomorrow'/,
    2,
  )
  await fails(['keys', 'set-dates', kid, '--end', '2020-01-01'], /: --end is in the past\./)
  await fails(
    ['keys', 'set-dates', kid, '--begin', inDays(1)],
    /The key is Active: --begin can no longer be changed\./,
  )
  const early = ['--end', inDays(1), '--protect-stop', inDays(2)]
  await fails(['keys', 'set-dates', kid, ...early], /: --end is before --protect-stop\./)
  await fails(['keys', 'set-dates', kid], /give at least one date/, 2)
})

test('a key rests while it is disabled', async () => {
  const kid = await newKey('--tag', 'rests')
  assert.match(await ok('keys', 'disable', kid), new RegExp(`^${kid} {2}Active, disabled$`))
  assert.deepEqual(await listed('--tag', 'rests', '--state', 'disabled'), [kid])
  const refused = await run(['crypto', 'encrypt-data', '--key', kid], { input: Buffer.from('x') })
  assert.equal(refused.code, 1)
  assert.match(refused.err, /disabled/)
  assert.match(await ok('keys', 'enable', kid), new RegExp(`^${kid} {2}Active$`))
  assert.equal((await run(['crypto', 'encrypt-data', '--key', kid], { input: Buffer.from('x') })).code, 0)
})

test('a destruction that waits is shown, and taken back', async () => {
  const kid = await newKey('--tag', 'waits')
  assert.match(
    await ok('keys', 'destroy', kid, '--yes'),
    new RegExp(`destruction pending until ${inDays(7)}`),
  )
  assert.deepEqual(await listed('--state', 'waiting'), [kid])
  await ok('keys', 'restore', kid)
  assert.deepEqual(await listed('--state', 'waiting'), [])
})

test('a schedule of rotations is set, shown and ended', async () => {
  const kid = await newKey()
  const set = ['keys', 'set-rotation', kid]
  const line = await ok(...set, '--every', '90d', '--after-messages', '2147483648')
  assert.match(line, new RegExp(`^${kid} {2}every 90 days, after 2147483648 messages, next \\d{4}-`))
  const shown = await ok('keys', 'show', kid)
  assert.match(shown, /^rotated +every 90 days, after 2147483648 messages, next /m)
  assert.match(shown, /^encrypted +\d+ AES-GCM messages of 4294967296 \(0 %\)$/m)
  await ok(...set, '--after-messages', 'none')
  assert.match(await ok(...set, '--every', 'none'), new RegExp(`^${kid} {2}not rotated by the service$`))
  await fails([...set, '--every', '90'], /--every must be a duration like 30d, 2w or 12h, not '90'/, 2)
  await fails([...set, '--after-messages', 'many'], /--after-messages must be a whole number or "none"/, 2)
  await fails(set, /give at least one of --every, --after-messages and --min-decrypt-version/, 2)
})

test('the destruction of a version waits where the service is configured so, and is taken back', async () => {
  const kid = await newKey('--tag', 'waits')
  await ok('keys', 'rotate', kid)
  assert.match(
    await ok('keys', 'version', 'destroy', kid, '1', '--yes'),
    new RegExp(`destroyed on ${inDays(7)}$`),
  )
  assert.match(await ok('keys', 'version', 'restore', kid, '1'), / version 1 of .*: Active$/)
})

test('an old version is left behind: it opens nothing, is revoked, and is destroyed', async () => {
  const kid = await newKey()
  const input = Buffer.from('of last year')
  const { bytes: jwe } = await run(['crypto', 'encrypt-data', '--key', kid], { input })
  await ok('keys', 'rotate', kid)
  const opens = async (): Promise<boolean> =>
    (await run(['crypto', 'decrypt-data'], { input: jwe })).code === 0
  assert.ok(await opens())
  assert.match(
    await ok('keys', 'set-rotation', kid, '--min-decrypt-version', '2'),
    /decrypts versions 2 and later$/,
  )
  assert.ok(!(await opens()))
  assert.match(await ok('keys', 'versions', kid), / decrypts nothing$/m)
  await ok('keys', 'set-rotation', kid, '--min-decrypt-version', '1')
  await ok('keys', 'version', 'disable', kid, '1')
  assert.ok(!(await opens()))
  await ok('keys', 'version', 'enable', kid, '1')
  assert.ok(await opens())
  assert.match(await ok('keys', 'version', 'revoke', kid, '1'), / version 1 of .*: Deactivated$/)
  assert.ok(await opens(), 'what it protected still opens')
  await fails(['keys', 'version', 'destroy', kid, '1'], /confirmation needs a terminal; use --yes/)
  assert.match(await ok('keys', 'version', 'destroy', kid, '1', '--yes'), / version 1 of .*: Destroyed$/)
  assert.ok(!(await opens()))
  await fails(
    ['keys', 'version', 'revoke', kid, '9'],
    /^version 9 of key .*: The key has no version 9\. \(not_found/,
  )
  for (const words of [[kid], [kid, '0'], [kid, 'one'], [kid, '1', '2']])
    await fails(['keys', 'version', 'revoke', ...words], /see warder keys versions KEY/, 2)
})
