import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startCommandFixture } from '../testing/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-abe-'))
const path = (name: string): string => join(folder, name)

const { ok, output, json, fails } = await startCommandFixture()
writeFileSync(path('structure.json'), '{"Level::<":["low","high::+"],"Team":["blue","red"]}')
const made = await json(['keys', 'abe', 'create', path('structure.json'), '--tag', 'tests'])
const { kid: master, kid_public: publicKey } = made as { kid: string; kid_public: string }
after(() => rmSync(folder, { recursive: true, force: true }))

const user = async (policy: string): Promise<string> =>
  (await json(['keys', 'abe', 'user', master, '--policy', policy])).kid

test('the table shows what keys read, also what an attribute that was added leaves closed', async () => {
  const all = await user('*')
  await ok(['keys', 'abe', 'add', master, 'Team::green'])
  await ok(['keys', 'abe', 'add', master, 'Level::top', '--above', 'high', '--protection', 'post-quantum'])
  await ok(['keys', 'abe', 'disable', master, 'Team::red'])
  const shown = await output(['keys', 'abe', 'show', master])
  assert.match(shown, /^Level +low < high \(hybridized\) < top \(postquantum\)$/m)
  assert.match(shown, /^Team +blue, red \(disabled\), green$/m)
  assert.match(shown, new RegExp(`^${all} .* \\* +x +x +- +x +x +-$`, 'm'))
  const asked = await output(['keys', 'abe', 'show', master, '--policy', 'Team::green'])
  assert.match(asked, new RegExp(`^${all} .* no$`, 'm'))
  const described = await output(['keys', 'show', all])
  assert.match(described, /^is +attribute-based user key$/m)
  assert.match(described, new RegExp(`^master key +${master}$`, 'm'))
})

test('a file for a policy is decrypted with a user key that is named, and with no other', async () => {
  const [blue, red] = [await user('Team::blue'), await user('Team::red')]
  writeFileSync(path('plain'), 'for the team blue')
  await ok(['crypto', 'encrypt', path('plain'), '--key', publicKey, '--policy', 'Team::blue && Level::low'])
  const decrypt = ['crypto', 'decrypt', path('plain.warder'), '--output', path('copy')]
  await fails(decrypt, /encrypted for a policy: give your user key with --key KEY/)
  await fails([...decrypt, '--key', red], /decryption_failed/)
  await fails([...decrypt, '--key', publicKey], /not an attribute-based user key/)
  await ok([...decrypt, '--key', blue])
  assert.equal(readFileSync(path('copy'), 'utf8'), 'for the team blue')
  const encrypt = ['crypto', 'encrypt', path('plain'), '--key', publicKey, '--output', path('other')]
  await fails([...encrypt, '--policy', 'Team::'], /not an attribute/)
  await fails([...encrypt, '--policy', 'Team::blue', '--alg', 'A256GCM'], /exclude each other/, {}, 2)
  await fails(encrypt, /cannot encrypt/)
})

test('what is typed wrongly is told before anything is done', async () => {
  for (const [words, told] of [
    [['create'], /name the file of an access structure/],
    [['user', master], /--policy is required/],
    [['user', master, '--policy', ' '], /--policy must not be empty/],
    [['rekey', '--policy', '*'], /name the master key/],
    [['rekey', master, 'Team::blue', '--policy', '*'], /unknown argument: Team::blue/],
    [['prune', master], /--policy is required/],
    [['add', master], /name the attribute/],
    [
      ['add', master, 'Team::x', '--protection', 'strong'],
      /--protection must be one of classic, hybrid, post-quantum/,
    ],
    [['rename', master, 'Team::blue'], /and its new name/],
    [['disable', master], /name the attributes/],
    [['delete', master], /name the attributes/],
  ] as const)
    await fails(['keys', 'abe', ...words], told, {}, 2)
  writeFileSync(path('list.json'), '[]')
  await fails(['keys', 'abe', 'create', path('list.json')], /must be a JSON object/)
  await fails(['keys', 'abe', 'create', path('nothing.json')], /cannot be read/)
  await fails(['keys', 'abe', 'user', publicKey, '--policy', '*'], /not an attribute-based master key/)
  await fails(['keys', 'abe', 'rename', master, 'Team::nobody', 'x'], /has no attribute "nobody"/)
})
