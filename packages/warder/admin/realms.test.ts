import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sharedKey, TestIdp } from '@warder/auth/testing'
import type { Prompter } from '@warder/command-line'
import { type Installation, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { adminCommand } from './command.ts'

const home = temporaryHome()
let warder: Installation

/** Runs `warder admin` in this process, with a user at the terminal who gives these answers. */
async function run(words: readonly string[], answers?: readonly (string | (() => string))[]) {
  const left = [...(answers ?? [])]
  const asked: string[] = []
  const ask = async (question: string): Promise<string> => {
    asked.push(question)
    const answer = left.shift() ?? ''
    return typeof answer === 'string' ? answer : answer()
  }
  const prompter: Prompter = { interactive: answers !== undefined, ask, askSecret: ask }
  const [lines, notes]: [string[], string[]] = [[], []]
  const terminal = {
    out: (line: string) => void lines.push(line),
    err: (line: string) => void notes.push(line),
    env: {},
  }
  let failed = ''
  try {
    await adminCommand(() => prompter).run(['--home', home, ...words], terminal)
  } catch (error) {
    assert.ok(error instanceof Error)
    failed = error.message
  }
  return { failed, out: lines.join('\n'), notes: notes.join('\n'), asked }
}

async function ok(...words: string[]): Promise<string> {
  const { failed, out } = await run([...words, '--yes'])
  assert.equal(failed, '', words.join(' '))
  return out
}
const json = async (...words: string[]) => JSON.parse(await ok(...words, '--json'))
const fails = async (expected: RegExp, ...words: string[]) =>
  assert.match((await run([...words, '--yes'])).failed, expected, words.join(' '))

function file(name: string, content: string): string {
  const path = join(home, name)
  writeFileSync(path, content)
  return path
}

before(async () => {
  warder = await startInstallation({
    home,
    env: { AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '1000', AUTH_LOGIN_RATE_LIMIT_BURST: '10000' },
  })
  // One session for all commands: each login would compute a hash.
  const { code, err } = await runWarder(['login', '--no-keyring', '--home', home])
  assert.equal(code, 0, err)
})
after(async () => {
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
})

/** Logs in over HTTPS. @returns the next step, or the status of a refusal */
async function logIn(basic: string, realm: string, code?: string): Promise<unknown> {
  const client = warder.client('auth')
  const authorization = `Basic ${Buffer.from(basic).toString('base64')}`
  const body = code === undefined ? {} : { totp_code: code }
  const answer = await client.ask(`/login?realm=${realm}`, { json: body, headers: { authorization } })
  client.close()
  return answer.status === 200 ? (answer.json as { next_step: string }).next_step : answer.status
}

describe('realms', () => {
  test('are created with passwords, changed, shown and deleted', async () => {
    assert.equal(await ok('create-realm', 'shop'), 'created realm shop; login by password')
    const { auth_params: params, ...ages } = await json('show-realm', 'shop')
    assert.deepEqual(params, { username_password_params: { allow_expired_passwords: false } })
    assert.deepEqual([ages.session_max_age_seconds, ages.session_max_stale_age_seconds], [28800, 1800])
    assert.match(
      await ok('show-realm', 'shop'),
      /^realm: +shop\nlogin by: +password\nsessions: +end after 28800 s, or/,
    )
    await fails(/409/, 'create-realm', 'shop')

    const asked = await run(
      ['change-realm', 'shop', '--idle-seconds', '600', '--login', 'certificate'],
      ['n'],
    )
    assert.equal(asked.failed, 'nothing was changed')
    assert.deepEqual(asked.asked, [
      'Change realm shop: login by password -> password, certificate; session_max_stale_age_seconds 1800 -> 600? [y/N] ',
    ])
    await ok('change-realm', 'shop', '--idle-seconds', '600', '--login', 'certificate')
    await ok('change-realm', 'shop', '--jwt-provider', 'https://idp.example,https://idp.example/keys,shop')
    const changed = await json('show-realm', 'shop')
    assert.equal(changed.session_max_stale_age_seconds, 600)
    assert.deepEqual(Object.keys(changed.auth_params).sort(), [
      'client_certificate_params',
      'jwt_params',
      'username_password_params',
    ])
    assert.deepEqual(changed.auth_params.jwt_params.idp_params, [
      { jwt_issuer_uri: 'https://idp.example', jwks_uri: 'https://idp.example/keys', jwt_audience: 'shop' },
    ])
    await ok('change-realm', 'shop', '--no-login', 'jwt', '--no-login', 'certificate')
    assert.match(await ok('realms'), /^shop +password +28800 s +600 s$/m)
    assert.match(await ok('change-realm', 'shop', '--login', 'password'), /has these settings already/)

    const settings = file('shop.json', JSON.stringify({ ...changed, session_max_age_seconds: 60 }))
    assert.match(
      await ok('change-realm', 'shop', '--settings', settings),
      /login by password -> password, JWT, certificate/,
    )
    assert.equal((await json('show-realm', 'shop')).session_max_age_seconds, 60)
    file('shop.json', '{"auth_params":{"jwt_params":null}}')
    await ok('change-realm', 'shop', '--settings', settings)

    await ok('add-user', 'ann', '--realm', 'shop')
    const kept = await run(['delete-realm', 'shop'], ['n'])
    assert.deepEqual(kept.asked, [
      'Delete realm shop with its users (1 with a password), AppRoles (0), second factors and sessions? [y/N] ',
    ])
    assert.match(await ok('delete-realm', 'shop'), /^deleted realm shop, with its users \(1 with/)
    await fails(/^there is no realm shop: see warder admin realms$/, 'show-realm', 'shop')
    await fails(/^there is no realm shop/, 'delete-realm', 'shop')
    await fails(/403: The realm of the super administrators/, 'delete-realm', '_')
  })

  test('refuse settings that they cannot have, and stay as they are', async () => {
    await ok('create-realm', 'club')
    const before = await json('show-realm', 'club')
    for (const [expected, ...words] of [
      [/^name the realm/],
      [/^give what changes/, 'club'],
      [/^--login must be one of password, passkey, certificate, not 'jwt'$/, 'club', '--login', 'jwt'],
      [
        /^--no-login must be one of password, passkey, jwt, certificate, saml, not 'x'$/,
        'club',
        '--no-login',
        'x',
      ],
      [/exclude each other/, 'club', '--login', 'password', '--no-login', 'password'],
      [/^--jwt-provider must be ISSUER,JWKS/, 'club', '--jwt-provider', 'https://idp.example'],
      [/^--jwt-provider must be/, 'club', '--jwt-provider', 'https://i.example,http://i.example/keys'],
      [/^--idle-seconds must be a whole number/, 'club', '--idle-seconds', '10m'],
      [/400: .*session_max_stale_age_seconds/, 'club', '--idle-seconds', '0'],
      [/none: no such file/, 'club', '--settings', join(home, 'none')],
      [/is not JSON/, 'club', '--settings', file('bad.json', '{')],
      [/must be a JSON object/, 'club', '--settings', file('list.json', '[]')],
      [/must be a JSON object/, 'club', '--settings', file('params.json', '{"auth_params":[]}')],
      [/its id is that of another realm/, 'club', '--settings', file('id.json', '{"id":"other"}')],
      [/400: .*colour/, 'club', '--settings', file('more.json', '{"colour":"red"}')],
      [/409: .*no super administrator could log in/, '_', '--no-login', 'password'],
    ] as const)
      await fails(expected, 'change-realm', ...words)
    assert.deepEqual(await json('show-realm', 'club'), before)
    await fails(/400: /, 'create-realm', '../x')
    await ok('delete-realm', 'club')
  })
})

test('administrators are added with or without a user, changed and deleted', async () => {
  await ok('create-realm', 'shop')
  const chief = await json('add-admin', 'chief', '--realm', 'shop', '--keep-password')
  assert.deepEqual([chief.userpass, chief.realms], ['chief', ['shop']])
  assert.equal(await logIn(`chief:${chief.password}`, '_'), 'Authenticated')
  assert.match(await ok('admins'), /^ADMINISTRATOR +REALMS +USER +SECOND FACTOR\n/)
  assert.match(await ok('admins'), /^chief +shop +user chief$/m)
  assert.match(await ok('show-admin', 'admin'), /^realms: +all \(super administrator\)$/m)
  const asChief = ['--admin', 'chief', '--password-file', file('chief', chief.password)]
  assert.match(await ok('users', '--realm', 'shop', ...asChief), /there are no users/)
  await fails(/403/, 'users', '--realm', '_', ...asChief)
  await fails(/403/, 'add-admin', 'other', '--realm', '_', '--user', 'ann', ...asChief)

  await fails(
    /there is a user chief of realm _ already: --user chief makes/,
    'add-admin',
    'chief',
    '--realm',
    'shop',
  )
  // The user would remain without the record.
  await fails(/400: realms: /, 'add-admin', 'dora', '--realm', 'nowhere')
  await fails(/there is no user dora/, 'show-user', 'dora', '--realm', '_')
  await ok('add-user', 'ann', '--realm', 'shop')
  assert.match(
    await ok('add-admin', 'ann of shop', '--realm', 'shop', '--user', 'ann'),
    /^added administrator ann of shop of shop: user ann$/,
  )

  await ok('create-realm', 'club')
  const asked = await run(['change-admin', 'chief', '--add-realm', 'club', '--remove-realm', 'shop'], ['n'])
  assert.deepEqual(asked.asked, [
    'Change administrator chief from shop as user chief to club as user chief? [y/N] ',
  ])
  await ok('change-admin', 'chief', '--add-realm', 'club', '--remove-realm', 'shop', '--jwt', 'sub-1')
  const changed = await json('show-admin', 'chief')
  assert.deepEqual([changed.realms, changed.userpass, changed.jwt], [['club'], 'chief', 'sub-1'])
  await ok('change-admin', 'chief', '--jwt', 'none', '--passkey', 'chief')
  assert.deepEqual(
    [(await json('show-admin', 'chief')).jwt, (await json('show-admin', 'chief')).fido2],
    [null, 'chief'],
  )
  await ok('change-admin', 'chief', '--passkey', 'none')
  await fails(/chief does not administer the realm shop/, 'change-admin', 'chief', '--remove-realm', 'shop')
  await fails(/409: The last super administrator/, 'change-admin', 'admin', '--remove-realm', '_')
  await fails(/409: The last super administrator/, 'delete-admin', 'admin')

  const password = file('next', 'an agreed password of chief')
  await ok('reset-password', 'chief', '--realm', '_', '--new-password-file', password, '--keep-password')
  assert.equal(await logIn('chief:an agreed password of chief', '_'), 'Authenticated')
  assert.match(
    await ok('delete-admin', 'chief'),
    /^deleted administrator chief \(user chief stays, without the power over club\)$/,
  )
  await fails(/there is no administrator chief: see warder admin admins/, 'delete-admin', 'chief')
  await fails(/there is no administrator chief/, 'show-admin', 'chief')
  await fails(/403/, 'realms', '--admin', 'chief', '--password-file', password)

  for (const [expected, ...words] of [
    [/^name the administrator/, 'add-admin'],
    [/^--realm is required/, 'add-admin', 'x'],
    [
      /are for a new user, without --user/,
      'add-admin',
      'x',
      '--realm',
      'shop',
      '--user',
      'a',
      '--keep-password',
    ],
    [/^--user needs a value/, 'add-admin', 'x', '--realm', 'shop', '--user', ''],
    [/^give what changes/, 'change-admin', 'x'],
    [/both name shop/, 'change-admin', 'x', '--add-realm', 'shop', '--remove-realm', 'shop'],
  ] as const)
    await fails(expected, ...words)
})

test('users are shown, and their roles and claims are changed', async () => {
  await ok('create-realm', 'desk')
  const at = ['--realm', 'desk']
  const { password } = await json('add-user', 'bob', ...at, '--role', 'seller', '--keep-password')
  assert.equal(await logIn(`bob:${password}`, 'desk'), 'Authenticated')
  assert.match(
    await ok('show-user', 'bob', ...at),
    /^user: +bob of realm desk\nlogin by: +password\nsecond factors: +none\nroles: +seller\nsessions: +1$/,
  )
  const change = ['change-user', 'bob', ...at, '--add-role', 'night', '--remove-role', 'seller']
  const asked = await run([...change, '--claim', 'branch=Lyon', '--claim', 'level=3'], ['n'])
  assert.deepEqual(asked.asked, [
    'Change bob of realm desk from roles seller, claims {} to roles night, claims {"branch":"Lyon","level":3}? [y/N] ',
  ])
  await ok(...change, '--claim', 'branch=Lyon', '--claim', 'level=3')
  const bob = await json('show-user', 'bob', ...at)
  assert.deepEqual([bob.roles, bob.extra_claims, bob.sessions], [['night'], { branch: 'Lyon', level: 3 }, 1])
  await ok('change-user', 'bob', ...at, '--remove-claim', 'level', '--change-password')
  const later = await json('show-user', 'bob', ...at)
  assert.deepEqual([later.extra_claims, later.change_password], [{ branch: 'Lyon' }, true])
  assert.equal(await logIn(`bob:${password}`, 'desk'), 'ChangePassword')
  for (const [expected, ...words] of [
    [/^give what changes/],
    [/has no role seller/, '--remove-role', 'seller'],
    [/has no claim level/, '--remove-claim', 'level'],
    [/both name night/, '--add-role', 'night', '--remove-role', 'night'],
    [/^--claim must be NAME=VALUE, not 'branch'$/, '--claim', 'branch'],
    [/400: .*extra_claims/, '--claim', 'sub=admin'],
  ] as const)
    await fails(expected, 'change-user', 'bob', ...at, ...words)
  await fails(/^there is no user nobody of realm desk$/, 'change-user', 'nobody', ...at, '--add-role', 'x')
})

/** RFC 6238, SHA-1, 30 seconds. */
function code(secret: string, step = Math.floor(Date.now() / 30_000)): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

test('an authenticator app is enrolled with a QR code and one of its codes', async () => {
  await ok('create-realm', 'safe')
  const at = ['--realm', 'safe']
  const { password } = await json('add-user', 'tom', ...at, '--keep-password')
  let secret = ''
  const words = ['enroll-totp', 'tom', ...at]
  const lines: string[] = []
  const answers = ['000000', () => `${code(secret).slice(0, 3)} ${code(secret).slice(3)}`]
  const prompter: Prompter = {
    interactive: true,
    async ask() {
      secret = /enter the secret: ([A-Z2-7 ]+)$/m.exec(lines.join('\n'))?.[1]?.replaceAll(' ', '') ?? ''
      const answer = answers.shift() ?? ''
      return typeof answer === 'string' ? answer : answer()
    },
    askSecret: async () => '',
  }
  const out: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void lines.push(line),
    env: {},
  }
  await adminCommand(() => prompter).run(['--home', home, ...words], terminal)
  assert.match(lines.join('\n'), /[█▀▄]{10}/)
  assert.match(lines.join('\n'), /the code does not match: check the clock of the device \(2 more tries\)/)
  assert.match(
    out.join('\n'),
    /^tom of realm safe logs in with a code of the app from now on; each code works once$/,
  )
  assert.ok(!out.join('\n').includes(secret))
  assert.equal(await logIn(`tom:${password}`, 'safe'), 'TotpRequired')
  assert.equal(
    await logIn(`tom:${password}`, 'safe', code(secret, Math.floor(Date.now() / 30_000) + 1)),
    'Authenticated',
  )

  const refused = await run(words, ['000000', '000001', '000002'])
  assert.match(refused.failed, /400: token: does not match the secret/)
  assert.equal(refused.asked.length, 3)
  await fails(/a new secret is shown at a terminal only; .*--secret-file FILE --code CODE/, ...words)
  await fails(/^--secret-file and --code must be given together$/, ...words, '--code', '123456')
  await fails(
    /404: .*user/,
    'enroll-totp',
    'tim',
    ...at,
    '--secret-file',
    file('s', secret),
    '--code',
    code(secret),
  )
  const own = [...randomBytes(32)].map((byte) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[byte % 32]).join('')
  const device = [...words, '--secret-file', file('own', `${own}\n`), '--code']
  await fails(/400: token: does not match/, ...device, 'abc')
  assert.match(await ok(...device, code(own)), /from now on/)
})

test('SAML is set up from metadata, changed, and refused where it cannot be', async () => {
  await ok('create-realm', 'staff')
  const idp = new TestIdp({
    key: await sharedKey('idp'),
    spEntityId: 'https://auth.example.com/saml/staff',
    acsUrl: 'https://auth.example.com/saml/staff/acs',
  })
  const metadata = file('idp.xml', idp.metadata())
  const base = ['--base-url', 'https://auth.example.com/']
  await fails(/the realm staff has no SAML yet: give --metadata FILE or URL/, 'set-saml', 'staff', ...base)
  const set = await ok(
    'set-saml',
    'staff',
    '--metadata',
    metadata,
    ...base,
    '--role-attribute',
    'groups',
    '--claim',
    'mail=mail',
  )
  assert.match(set, /^Enter at the identity provider https:\/\/idp\.example\/metadata:$/m)
  assert.match(set, /^Assertion consumer service .* https:\/\/auth\.example\.com\/saml\/staff\/acs$/m)
  const read = async () => (await json('show-realm', 'staff')).auth_params.saml_params
  const first = await read()
  assert.deepEqual(
    [first.sp_entity_id, first.default_return_url, first.allowed_return_origins, first.attribute_claim_map],
    [
      'https://auth.example.com/saml/staff',
      'https://auth.example.com/',
      ['https://auth.example.com'],
      { mail: 'mail' },
    ],
  )
  const asked = await run(
    ['set-saml', 'staff', '--terminal', '--return-origin', 'https://app.example'],
    ['n'],
  )
  assert.deepEqual(asked.asked, [
    'Change the SAML settings of realm staff, whose identity provider is https://idp.example/metadata? [y/N] ',
  ])
  await ok('set-saml', 'staff', '--terminal', '--return-origin', 'https://app.example')
  const second = await read()
  assert.deepEqual(second, {
    ...first,
    allowed_return_origins: ['https://auth.example.com', 'https://app.example', 'http://127.0.0.1'],
  })
  const other = file(
    'other.xml',
    idp.metadata().replace('https://idp.example/metadata', 'https://other.example'),
  )
  const replaced = await run(['set-saml', 'staff', '--metadata', other], ['n'])
  assert.deepEqual(replaced.asked, [
    'Replace the identity provider https://idp.example/metadata of realm staff by https://other.example? Its users are other users, even with equal names: sessions and grants of the former users end. [y/N] ',
  ])
  const same = await run(['set-saml', 'staff', '--metadata', other, '--same-users'], ['n'])
  assert.match(same.asked.join(), /by https:\/\/other.example\? Equal names mean the same users\./)
  await ok('change-realm', 'staff', '--no-login', 'password')
  assert.match(await ok('realms'), /^staff +SAML /m)
  for (const [expected, ...words] of [
    [/^--metadata must be a file or an https address/, '--metadata', 'http://idp.example/metadata'],
    [/none: no such file/, '--metadata', join(home, 'none')],
    [/400: .*metadata_xml/, '--metadata', file('not.xml', '<a/>')],
    [/is larger than 262144 bytes/, '--metadata', file('large.xml', 'x'.repeat(300_000))],
    [/^--base-url must be an https address/, '--base-url', 'auth.example.com'],
    [/^--claim must be ATTRIBUTE=CLAIM/, '--claim', 'mail'],
    [/400: .*reserved claim/, '--claim', 'mail=sub'],
    [/none: no such file/, '--metadata-certificate', join(home, 'none')],
    [/400: .*allowed_return_origins/, '--return-origin', 'app.example'],
    [/the metadata: .*cannot be reached/, '--metadata', 'https://127.0.0.1:1/metadata'],
  ] as const)
    await fails(expected, 'set-saml', 'staff', ...words)
  assert.deepEqual(await read(), second)
  await fails(/there is no realm nowhere/, 'set-saml', 'nowhere', '--metadata', metadata)
})

test('an AppRole is shown and changed, and its SecretIDs are listed and destroyed', async () => {
  const role = await json('add-approle', 'till', '--realm', '_', '--policy', 'sales', '--secret-id-uses', '3')
  assert.match(
    await ok('show-approle', 'till'),
    new RegExp(`^AppRole: +till of realm _\\nrole id: +${role.role_id}\\npolicies: +sales\\n`),
  )
  const change = [
    'change-approle',
    'till',
    '--policy',
    'stock',
    '--token-ttl',
    '60',
    '--login-from',
    '127.0.0.0/8, ::1/128',
  ]
  const asked = await run(change, ['n'])
  assert.match(
    asked.asked[0] ?? '',
    /^Change AppRole till: token_policies stock; token_ttl 60; secret_id_bound_cidrs 127/,
  )
  await ok(...change)
  const shown = await json('show-approle', 'till')
  assert.deepEqual(
    [shown.role_id, shown.token_policies, shown.token_ttl, shown.secret_id_bound_cidrs],
    [role.role_id, ['stock'], 60, ['127.0.0.0/8', '::1/128']],
  )
  await ok('change-approle', 'till', '--login-from', '')
  const more = await json('new-secret-id', 'till', '--secret-id-ttl', '600')
  const listed = await json('secret-ids', 'till')
  assert.deepEqual(
    new Map(
      listed.map((each: Record<string, unknown>) => [each.secret_id_accessor, each.secret_id_num_uses]),
    ),
    new Map([
      [role.secret_id_accessor, 3],
      [more.secret_id_accessor, 0],
    ]),
  )
  assert.match(await ok('secret-ids', 'till'), /^ACCESSOR +USES LEFT +ENDS\n/)
  assert.ok(!(await ok('secret-ids', 'till')).includes(role.secret_id))
  await fails(/404/, 'destroy-secret-id', 'till', 'mistyped')
  await ok('destroy-secret-id', 'till', more.secret_id_accessor)
  assert.equal((await json('secret-ids', 'till')).length, 1)
  await ok('destroy-secret-id', 'till', role.secret_id_accessor)
  assert.match(await ok('secret-ids', 'till'), /AppRole till has no usable SecretID/)
  for (const [expected, ...words] of [
    [/^give what changes/, 'change-approle', 'till'],
    [/there is no AppRole tilt: see warder admin approles/, 'change-approle', 'tilt', '--token-ttl', '1'],
    [/400: .*address blocks/, 'change-approle', 'till', '--login-from', 'here'],
    [/there is no AppRole tilt/, 'secret-ids', 'tilt'],
    [/^name the role and the accessor/, 'destroy-secret-id', 'till'],
    [/there is no AppRole tilt/, 'show-approle', 'tilt'],
  ] as const)
    await fails(expected, ...words)
})
