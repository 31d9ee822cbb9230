import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newUser, startCommandFixture } from '../testing/in-process.ts'

const { warder, run } = await startCommandFixture(['pki'])
const ca = JSON.parse((await run(['create', 'CN=Acme Root', '--json'])).out).id

test('an authority is opened for ACME, gets credentials, and is closed', async () => {
  const open = await run(['acme', 'open', ca, '--days', '30', '--challenge', 'dns-01', '--json'])
  assert.equal(open.code, 0, open.err)
  const { directory, days, challenges, external_account_required: bound } = JSON.parse(open.out)
  assert.equal(directory, `${warder.kmsUrl}/acme/${ca}/directory`)
  assert.deepEqual([days, challenges, bound], [30, ['dns-01'], true])
  const made = await run(['acme', 'credential', ca, '--name', 'web-1'])
  assert.equal(made.code, 0, made.err)
  const kid = /^kid +(\S+)$/m.exec(made.out)?.[1] ?? ''
  const key = /^hmac key +(\S+)$/m.exec(made.out)?.[1] ?? ''
  assert.equal(Buffer.from(key, 'base64url').length, 32)
  const listed = await run(['acme', 'list', ca])
  assert.match(listed.out, new RegExp(`there are no accounts\\n\\nCREDENTIAL[^]*${kid}[^]*admin +web-1`))
  assert.ok(!listed.out.includes(key))
  assert.equal((await run(['acme', 'remove', ca, kid, '--credential'])).code, 0)
  assert.match((await run(['acme', 'remove', ca, kid])).err, /no such/)
  assert.match((await run(['acme', 'list', ca])).out, /no unused credentials/)
  assert.equal((await run(['acme', 'close', ca])).code, 0)
  assert.match((await run(['acme', 'credential', ca])).err, /not open|no such/)
})

test('what cannot be meant is refused before anything is asked', async () => {
  for (const [told, ...words] of [
    [/--profile must be server or client/, 'acme', 'open', ca, '--profile', 'authority'],
    [/--challenge must be one of/, 'acme', 'open', ca, '--challenge', 'http-02'],
    [/name the authority/, 'acme', 'remove', ca],
    [/name the authority/, 'acme', 'open'],
    [/--days must be 1 to/, 'expiring', '--days', '0'],
  ] as const) {
    const ran = await run(words)
    assert.match(ran.err, told)
    assert.equal(ran.code, 2)
  }
  const bob = await newUser(warder, 'bob')
  const denied = await run(['acme', 'open', ca], { token: bob })
  assert.deepEqual([denied.code, denied.out], [1, ''])
})

test('expiring shows valid certificates that end soon, the first first', async () => {
  const issue = async (name: string, days: string) => {
    const made = await run(['issue', ca, '--alg', 'ES256', '--name', name, '--days', days, '--json'])
    assert.equal(made.code, 0, made.err)
    return JSON.parse(made.out).id as string
  }
  assert.deepEqual(await run(['expiring', '--days', '3']).then(({ code, out }) => [code, out]), [
    0,
    'no valid certificate ends within 3 days',
  ])
  const [later, sooner, far] = [
    await issue('b.test', '9'),
    await issue('a.test', '5'),
    await issue('c.test', '60'),
  ]
  const soon = await run(['expiring', '--days', '10', '--json'])
  assert.equal(soon.code, 1)
  const ids = JSON.parse(soon.out).certificates.map(({ id }: { id: string }) => id)
  assert.deepEqual(
    ids.filter((id: string) => [later, sooner, far].includes(id)),
    [sooner, later],
  )
})
