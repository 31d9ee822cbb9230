import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRights } from '@warder/keys'
import { rights as rightsOfTheService } from '@warder/keys/testing'
import { newUser, startCommandFixture } from '../testing/in-process.ts'
import { runWarder } from '../testing/installation.ts'
import { access } from './command.ts'
import { readRight, rightsLines } from './rights.ts'

const { warder, run, output, json, fails } = await startCommandFixture()
const bob = await newUser(warder, 'bob')
const carol = await newUser(warder, 'carol')

test('the help explains every right and group of the service, and no other', () => {
  const [singles = '', groups = ''] = rightsLines.split(/^Groups.*$/m)
  const explained = [...singles.matchAll(/^ {2}(\w+) {2,}\S/gm)].map(([, right]) => right)
  const listed = [...singles.matchAll(/^ {2}(\w+(?:, \w+)+)/gm)].flatMap(([, list = '']) => list.split(', '))
  assert.deepEqual([...explained, ...listed].sort(), [...rightsOfTheService].sort())
  const members = [...groups.matchAll(/^ {2}(\w+) +(.+)$/gm)]
  assert.equal(members.length, 5)
  for (const [, group = '', rights = ''] of members) assert.deepEqual(parseRights(group), rights.split(', '))
})

test('rights are understood in the spellings that people use, and a wrong one is told with the right ones', () => {
  assert.deepEqual(
    ['encrypt', 'GetAttributes', 'get_attributes', 'UseKey', 'use-key', 'Destroy', 'destroy', 'READ'].map(
      readRight,
    ),
    ['encrypt', 'getattributes', 'getattributes', 'UseKey', 'UseKey', 'Destroy', 'destroy', 'Read'],
  )
  assert.throws(
    () => readRight('encript'),
    /no right 'encript'; groups: UseKey, Read, .* rights: encrypt, decrypt/,
  )
  assert.throws(() => readRight('create'), /grant-create/)
  assert.throws(() => readRight('Audit'), /grant-audit/)
  for (const name of ['', 'toString', '__proto__', 'constructor']) assert.throws(() => readRight(name))
})

test('a granted right works with the next call, a revoked one no more; both are listed', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  assert.equal(await output(['access', 'list', kid]), `no other user has rights on key ${kid}`)
  const encrypt = ['crypto', 'encrypt-data', '--key', kid]
  const input = Buffer.from('text')
  await fails(encrypt, /you have no right on it/, { token: bob, input })
  assert.equal(
    await output(['access', 'grant', kid, 'bob', 'Encrypt', 'Read']),
    `bob may now: encrypt, Read   on key ${kid}`,
  )
  await output(encrypt, { token: bob, input })
  const granted = 'encrypt export get getattributes locate validate'
  assert.match(await output(['access', 'list', kid]), new RegExp(`^USER +MAY\nbob +${granted}$`))
  assert.match(await output(['access', 'of', 'bob']), new RegExp(`^${kid} +bob +${granted}$`, 'm'))
  assert.deepEqual(await json(['access', 'list', kid]), [{ user_id: 'bob', operations: granted.split(' ') }])
  assert.equal(
    await output(['access', 'revoke', kid, 'bob', 'encrypt']),
    `bob may no longer: encrypt   on key ${kid}`,
  )
  await fails(encrypt, /grant the right/, { token: bob, input })
  await output(['access', 'revoke', kid, 'bob', 'Read'])
  assert.deepEqual(await json(['access', 'list', kid]), [])
  assert.equal(await output(['access', 'of', 'bob']), 'bob has no rights on keys that you own')
})

test('what everybody may is shown as such, also for a user who is looked up', async () => {
  const { kid_public } = await json(['keys', 'create', '--alg', 'ES256'])
  await output(['access', 'grant', kid_public, '*', 'signatureverify'])
  assert.match(await output(['access', 'list', kid_public]), /^\* \(all users\) +signatureverify$/m)
  assert.match(
    await output(['access', 'of', 'carol']),
    new RegExp(`^${kid_public} +\\* \\(all users\\) +signatureverify$`, 'm'),
  )
})

test('--pair means both halves, and a single key has none', async () => {
  const { kid, kid_public } = await json(['keys', 'create', '--alg', 'ES256'])
  await output(['access', 'grant', kid_public, 'carol', 'sign', 'signatureverify', '--pair'])
  for (const half of [kid, kid_public]) {
    assert.deepEqual(await json(['access', 'list', half]), [
      { user_id: 'carol', operations: ['sign', 'signatureverify'] },
    ])
  }
  const single = await json(['keys', 'create', '--alg', 'HS256'])
  await fails(['access', 'grant', single.kid, 'carol', 'mac', '--pair'], /is not half of a pair: omit --pair/)
})

test('nobody grants what is not theirs to grant', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  await fails(['access', 'grant', kid, 'carol', 'encrypt'], /no right on it/, { token: bob })
  await output(['access', 'grant', kid, 'bob', 'encrypt', 'Authorize'])
  await output(['access', 'grant', kid, 'carol', 'encrypt'], { token: bob })
  await fails(['access', 'grant', kid, 'carol', 'decrypt'], /forbidden/, { token: bob })
  await fails(['access', 'grant', kid, 'bob', 'decrypt'], /your own rights/, { token: bob })
  await fails(['access', 'grant', kid, 'admin', 'decrypt'], /your own rights/)
  await fails(['access', 'list', kid], /forbidden/, { token: carol })
  await fails(['access', 'grant', kid, 'a\u202eb', 'decrypt'], /not the name of a user/)
  await fails(['access', 'grant', 'unknown', 'bob', 'decrypt'], /key does not exist/)
  await fails(['access', 'grant', kid, 'bob'], /name a key, a user and at least one right/, {}, 2)
  await fails(['access', 'grant', kid, 'bob', 'everything'], /there is no right 'everything'/, {}, 2)
})

test('the lookup of a user stops where it is told to, and says so', async () => {
  await output(['keys', 'create', '--alg', 'HS256'], { token: carol })
  await output(['keys', 'create', '--alg', 'HS256'], { token: carol })
  const ran = await run(['access', 'of', 'bob', '--limit', '1'], { token: carol })
  assert.deepEqual(
    [ran.code, ran.err],
    [0, 'only the first 1 of your keys were checked: --limit N checks more'],
  )
})

test('one learns who one is to the service; create is for crypto officers to decide', async () => {
  assert.match(
    await output(['access', 'me'], { token: bob }),
    /^user +bob\nmay create keys +yes\ncrypto officer +no$/,
  )
  assert.match(
    await output(['access', 'grant-create', 'carol']),
    /^carol may create keys, if crypto officers/,
  )
  assert.match(await output(['access', 'revoke-create', 'carol']), /^carol may no longer create keys/)
})

test('the help of the command explains the rights', () => {
  for (const part of ['UseKey', 'signatureverify', 'no right implies another', 'Exit codes']) {
    assert.ok(access.help.includes(part), part)
  }
})

test('a grant to a name that nobody has takes --anyway; a machine may be named without its prefix', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  const users = async () =>
    (await json(['access', 'list', kid])).map((grant: { user_id: string }) => grant.user_id).sort()
  await fails(
    ['access', 'grant', kid, 'bbo', 'encrypt'],
    /The user bbo is not known: nothing was granted.*--anyway/,
  )
  await fails(['access', 'grant', kid, 'eng/bob', 'encrypt'], /The user eng\/bob is not known/)
  await fails(['access', 'grant', kid, 'app:nothing', 'encrypt'], /The user app:nothing is not known/)
  assert.deepEqual(await users(), [])
  await output(['access', 'grant', kid, 'bbo', 'encrypt', '--anyway'])
  // bob was registered and has never been here; carol is known everywhere; clouds name their own.
  for (const user of ['bob', 'carol', '*', 'aws:arn:aws:iam::111122223333:role/r'])
    await output(['access', 'grant', kid, user, 'encrypt'])
  const role = ['admin', 'add-approle', 'builder', '--realm', '_', '--policy', 'builders']
  assert.equal((await runWarder([...role, '--home', warder.home])).code, 0)
  assert.equal(
    await output(['access', 'grant', kid, 'builder', 'encrypt']),
    `app:builder may now: encrypt   on key ${kid}`,
  )
  assert.deepEqual(await users(), [
    '*',
    'app:builder',
    'aws:arn:aws:iam::111122223333:role/r',
    'bbo',
    'bob',
    'carol',
  ])
  assert.equal(
    await output(['access', 'revoke', kid, 'builder', 'encrypt']),
    `app:builder may no longer: encrypt   on key ${kid}`,
  )
  // A user of the same name is meant as soon as there is one.
  await newUser(warder, 'builder')
  await output(['access', 'grant', kid, 'builder', 'encrypt'])
  assert.deepEqual(
    (await users()).filter((user: string) => user.includes('builder')),
    ['builder'],
  )
})

test('a group is put, shown, listed and deleted, and gives its members the rights', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM', '--tag', 'prod'])
  await fails(['access', 'grant', kid, 'group:ops', 'encrypt'], /group:ops/)
  assert.match(
    await output(['access', 'group', 'put', 'ops', 'bob', 'app:web-*']),
    /^members {2}app:web-\* bob$/m,
  )
  await output(['access', 'group', 'put', 'group:ops', 'dave', '--add'])
  const { members, version } = await json(['access', 'group', 'put', 'ops', 'app:web-*', '--remove'])
  assert.deepEqual([members, version], [['bob', 'dave'], 3])
  assert.match(
    await output(['access', 'group', 'show', 'ops']),
    /^group {4}group:ops\nmembers {2}bob dave\nowners {3}admin/,
  )
  assert.match(await output(['access', 'group', 'list']), /^group:ops +admin +20/m)
  assert.equal(
    await output(['access', 'grant', '--tag', 'prod', 'group:ops', 'encrypt']),
    'group:ops may now: encrypt   on your keys with the tag prod',
  )
  assert.equal(
    await output(['access', 'grant', kid, 'group:ops', 'sign']),
    `group:ops may now: sign   on key ${kid}`,
  )
  const encrypt = ['crypto', 'encrypt-data', '--key', kid]
  await output(encrypt, { token: bob, input: Buffer.from('text') })
  assert.match(
    await output(['access', 'list', kid]),
    /^USER +MAY +BY TAG\ngroup:ops +sign\ngroup:ops +encrypt +prod/,
  )
  await output(['access', 'revoke', '--tag', 'prod', 'group:ops', 'encrypt'])
  await fails(encrypt, /grant the right/, { token: bob, input: Buffer.from('text') })
  const remove = ['access', 'group', 'delete', 'ops']
  await fails(remove, /not confirmed|needs a terminal/)
  await output(remove, { answers: ['yes'] })
  await fails(['access', 'group', 'show', 'ops'], /Group not found/)
  for (const [words, told] of [
    [['group', 'put'], /name the group/],
    [['group', 'put', 'x', '--add', '--remove'], /exclude each other/],
    [['group', 'show', '..'], /not the name of a group/],
    [['grant', '--tag', 'prod', 'bob'], /with --tag name a user/],
    [['grant', '--tag', 'prod', 'bob', 'encrypt', '--pair'], /--pair and --tag/],
    [['revoke', '--tag', '', 'bob', 'encrypt'], /--tag is empty/],
  ] as const)
    await fails(['access', ...words], told, {}, 2)
})

test('an explanation names the grants and the step; its exit code tells whether the user may', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  const explain = ['access', 'explain', '--as', 'bob', '--key', kid, '--use', 'Decrypt']
  const refused = await run(explain)
  assert.equal(refused.code, 3, refused.err)
  assert.match(
    refused.out,
    new RegExp(`^bob may not decrypt with key ${kid}\n {2}against: No grant of decrypt`),
  )
  assert.match(refused.out, /^to change it: The owner of the key \(admin\) grants decrypt to bob/m)
  await output(['access', 'grant', kid, 'bob', 'decrypt'])
  assert.match(
    await output(explain),
    /may decrypt with key .*\n {2}for: decrypt is granted to bob\.\nto change it: /,
  )
  const own = ['access', 'explain', '--key', kid, '--use', 'decrypt']
  assert.equal((await json(own, { token: bob })).user_id, 'bob')
  await fails(own, /Key not found/, { token: carol })
  await fails([...explain.slice(0, -1), 'UseKey'], /--use must be one right/, {}, 2)
})

test('a report is printed as a table, as JSON and as CSV, to its last page', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  const members = Array.from({ length: 1100 }, (_, index) => `m${index}`)
  await output(['access', 'group', 'put', 'many', ...members])
  await output(['access', 'grant', kid, 'group:many', 'encrypt'])
  await output(['access', 'grant', kid, '=1+1', 'decrypt', '--anyway'])
  const report = ['access', 'report', '--key', kid]
  const table = await run([...report, '--limit', '3'])
  assert.match(table.out, /^USER +KEY +OWNER +RIGHT +BY +GRANTED TO +TAG +LAST USED\nadmin +/)
  assert.equal(table.out.split('\n').length, 4)
  assert.match(table.err, /only the first 3 rows/)
  const all = await json([...report, '--limit', '5000'])
  assert.equal(all.length, 1102)
  const csv = (await run([...report, '--csv'])).bytes.toString('utf8').trimEnd().split('\r\n')
  assert.equal(csv.length, 1103)
  assert.equal(csv[0], 'user_id,unique_identifier,owner_id,right,way,granted_to,tag,last_used')
  assert.ok(csv.some((line) => line.startsWith(`"'=1+1","${kid}"`)))
  assert.deepEqual(await json([...report, '--as', 'm7', '--right', 'encrypt']), [
    {
      user_id: 'm7',
      unique_identifier: kid,
      owner_id: 'admin',
      right: 'encrypt',
      way: 'group',
      granted_to: 'group:many',
    },
  ])
  assert.equal(await output([...report, '--way', 'tag']), 'no rights match')
  assert.match(await output(['access', 'report', '--leaver', 'm7']), /^memberships +1 +deleted +group:many$/m)
  await fails(['access', 'report', '--leaver', 'm7'], /crypto officers/, { token: carol })
  for (const [words, told] of [
    [['--way', 'x'], /--way must be owner, direct/],
    [['--csv', '--json'], /--csv excludes/],
    [['--leaver', 'bob', '--as', 'bob'], /--leaver excludes/],
    [['--limit', '0'], /--limit must be/],
    [['--as', ''], /--as is empty/],
  ] as const)
    await fails(['access', 'report', ...words], told, {}, 2)
})
