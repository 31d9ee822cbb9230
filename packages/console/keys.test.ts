import assert from 'node:assert/strict'
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type KmsClient, kmsClient } from '@warder/client'
import { newUser } from 'warder/testing'
import { algorithms, listUses } from './page/rooms/kms/keys/algorithms.ts'
import { readFilter, toCommand, toQuery } from './page/rooms/kms/keys/filter.ts'
import { type Console, missingChromium, type OpenPage, startConsole } from './testing/console.ts'

const hostileTag = '<img src=x onerror=alert(1)>'
const formulaTag = '=HYPERLINK("https://evil.example")'
const keyPage = (kid: string, tab?: string): string =>
  `/ui/keys/${encodeURIComponent(kid)}${tab === undefined ? '' : `?tab=${tab}`}`

describe('the rooms for keys', { skip: missingChromium }, () => {
  let console: Console
  const tokens = new Map<string, string>()
  const clients: KmsClient[] = []

  before(async () => {
    console = await startConsole({
      KMS_ROLES_CRYPTO_OFFICER_USERS: 'admin,dora,emil',
      KMS_APPROVALS_OPERATIONS: 'destroy,grant',
      KMS_APPROVALS_TAGS: 'guarded',
      KMS_APPROVALS_CREDENTIAL_WAIT: '0',
      KMS_PENDING_DESTRUCTION_DAYS_BY: 'tag:waits=7',
    })
    const { installation } = console
    for (const name of ['bob', 'carl']) tokens.set(name, await newUser(installation, name))
    tokens.set('admin', await installation.adminToken())
    await as('admin').call('access.grant', { body: { user_id: 'bob', operation_types: ['create'] } })
  })
  after(async () => {
    for (const client of clients) client.close()
    await console?.[Symbol.asyncDispose]()
  })

  /** A client with the session of a user. */
  function as(user: string): KmsClient {
    const { kmsUrl: url, caFile } = console.installation
    const credentials = { bearer: tokens.get(user) }
    const client = kmsClient({ url, ca: readFileSync(caFile, 'utf8'), credentials })
    clients.push(client)
    return client
  }

  const newKey = (body: Parameters<typeof createKey>[1]) => createKey(as('bob'), body)

  /** A room as a user sees it. */
  async function open(user: string, path: string, options = {}): Promise<OpenPage> {
    const opened = await console.open(options)
    await opened.logInAtKms(path, '_', user, `the password of ${user}`)
    await opened.page.locator('main h1').waitFor()
    return opened
  }

  it('lists keys with hostile names, filters them, copies them, and finds one by its alias', async () => {
    const key = await newKey({ kty: 'oct', alg: 'A256GCM', tags: [hostileTag, formulaTag] })
    await newKey({ kty: 'oct', alg: 'HS256' })
    await as('bob').call('crypto.aliases.create', { body: { alias: 'orders', kid: key } })
    await using opened = await open('bob', '/ui/keys')
    const { page } = opened
    await page.getByRole('cell', { name: hostileTag }).waitFor()
    await opened.assertAccessible()

    await page.getByText('More filters').click()
    await page.getByLabel('Tag', { exact: true }).fill(formulaTag)
    await page.getByLabel('Older than days').fill('400')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('heading', { name: 'No key matches these filters' }).waitFor()
    await opened.assertAccessible()
    await page.getByLabel('Older than days').fill('')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('link', { name: key }).waitFor()
    assert.equal(await page.getByRole('link', { name: /^[0-9a-f-]{36}$/ }).count(), 1)

    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
    const csv = await copied()
    assert.match(csv, /^Identifier,Name,/)
    assert.ok(!/(^|[,"])[=+@-]/m.test(csv.replace(/,–/g, '')), csv)
    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'The command' }).click()
    assert.equal(await copied(), `warder keys list --tag '${formulaTag}'`)

    await page.getByLabel('Identifier or alias').fill('no-such-key')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('alert').filter({ hasText: 'no-such-key' }).waitFor()
    await page.getByLabel('Identifier or alias').fill('orders')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('heading', { name: 'A256GCM key' }).waitFor()
    assert.equal(new URL(page.url()).pathname, keyPage(key))
    opened.assertNoErrors()
  })

  it('shows each part of a key without a violation of accessibility, in light and dark, also on a phone', async () => {
    const key = await newKey({ kty: 'oct', alg: 'A256GCM', tags: [hostileTag] })
    const bob = as('bob')
    await bob.call('crypto.keys.rotate', { path: { kid: key }, body: {} })
    await bob.call('crypto.encrypt', { body: { kid: key, alg: 'dir', enc: 'A256GCM', data: 'AAAA' } })
    const grant = { unique_identifier: key, user_id: 'role:corp/<b>dev', operation_types: ['encrypt'] }
    await bob.call('access.grant', { body: grant })
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 375],
    ] as const) {
      await using opened = await open('bob', keyPage(key), { colorScheme, width })
      const { page } = opened
      await page.getByText('1,024 of 4,294,967,296').waitFor()
      await opened.assertAccessible()
      for (const [tab, text] of [
        ['Versions', 'Version 2'],
        ['Grants', 'role:corp/<b>dev'],
        ['Uses', 'at most 1,000 users'],
        ['Try it', 'At most 4 MiB'],
        ['The same in code', 'curl'],
      ] as const) {
        await page.getByRole('tab', { name: tab }).click()
        await page.getByText(text).first().waitFor()
        await opened.assertAccessible()
        assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= width, tab)
      }
    }
  })

  it('changes tags, aliases, dates, rotation, versions and grants', async () => {
    const key = await newKey({ kty: 'oct', alg: 'A256GCM', tags: ['old'] })
    const bob = as('bob')
    const read = () => bob.call('crypto.keys.get', { path: { kid: key } })
    await using opened = await open('bob', keyPage(key))
    const { page } = opened
    const toast = (text: string) => page.locator('.toast').filter({ hasText: text }).first().waitFor()

    await page.getByRole('button', { name: 'Remove the tag old' }).click()
    await page.getByText('No tags').waitFor()
    await page.locator('summary', { hasText: 'Add a tag' }).click()
    await page.getByLabel('New tag').fill('new')
    await page.getByRole('button', { name: 'Add a tag' }).click()
    await page.getByRole('button', { name: 'Remove the tag new' }).waitFor()
    await page.locator('summary', { hasText: 'Add an alias' }).click()
    await page.getByLabel('New alias').fill('payments')
    await page.getByRole('button', { name: 'Add an alias' }).click()
    await page.getByRole('button', { name: 'Delete the alias alias/payments' }).waitFor()

    await page.getByRole('button', { name: 'Change dates' }).click()
    await page.getByLabel('Ends').fill('2020-01-01')
    await page.getByRole('button', { name: 'Save dates' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Ends').fill('2099-12-31')
    await page.getByRole('button', { name: 'Save dates' }).click()
    await toast('The dates are changed.')
    await page.getByRole('button', { name: 'Change the rotation' }).click()
    await page.getByLabel('Rotate every … days').fill('90')
    await page.getByRole('button', { name: 'Save the rotation' }).click()
    await toast('The rotation is changed.')
    await page.getByText('90 days').waitFor()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    await toast('Version 2 protects from now on.')
    const { tags, deactivation_at, version } = await read()
    // A rotation moves dates by the time since the creation.
    assert.deepEqual([tags, deactivation_at?.slice(0, 10), version], [['new'], '2099-12-31', 2])

    await page.getByRole('tab', { name: 'Versions' }).click()
    const first = page.getByRole('group', { name: 'Acts on version 1' })
    await first.getByRole('button', { name: 'Disable' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Disable version 1' })
    await dialog.getByText('cannot be decrypted').waitFor()
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await first.getByRole('button', { name: 'Enable' }).click()
    await toast('The version can be used again.')

    await page.getByRole('tab', { name: 'Grants' }).click()
    await page.getByRole('heading', { name: 'Only the owner can use this key' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('carlo')
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'carlo' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('carl')
    await page.getByRole('checkbox', { name: 'Decrypt' }).uncheck()
    await page.getByText(`warder access grant ${key} carl encrypt getattributes`).waitFor()
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByRole('cell', { name: 'encrypt, getattributes' }).waitFor()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('alertdialog').getByText('these rights end: encrypt, getattributes').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('heading', { name: 'Only the owner can use this key' }).waitFor()
    opened.assertNoErrors()
  })

  it('destroys a key after a dialog that names what ends, and restores it while it waits', async () => {
    const key = await newKey({ kty: 'oct', alg: 'A256GCM', tags: ['waits'] })
    const bob = as('bob')
    await bob.call('crypto.aliases.create', { body: { alias: 'archive', kid: key } })
    const grant = { unique_identifier: key, user_id: 'carl', operation_types: ['encrypt'] }
    await bob.call('access.grant', { body: grant })
    await using opened = await open('bob', keyPage(key))
    const { page } = opened
    await page.getByRole('button', { name: 'Destroy' }).click()
    const dialog = page.getByRole('alertdialog', { name: `Destroy key ${key}` })
    for (const text of [
      'destroyed after 7 days',
      '1 version',
      'grants to carl',
      'your aliases alias/archive',
    ])
      await dialog.getByText(text).waitFor()
    await opened.assertAccessible()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await bob.call('crypto.keys.get', { path: { kid: key } })).destruction_at, undefined)
    await page.getByRole('button', { name: 'Destroy' }).click()
    await dialog.getByRole('button', { name: 'Destroy' }).click()
    await page.getByText('requested by bob').waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Cancel the destruction' }).click()
    await page.getByRole('button', { name: 'Rotate' }).waitFor()
    assert.equal((await bob.call('crypto.keys.get', { path: { kid: key } })).destruction_at, undefined)
    opened.assertNoErrors()
  })

  it('requests the approval of officers where a destruction or a grant needs one', async () => {
    const key = await newKey({ kty: 'oct', alg: 'A256GCM', tags: ['guarded'] })
    await using opened = await open('bob', keyPage(key))
    const { page } = opened
    await page.getByRole('button', { name: 'Destroy' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('Crypto officers have to approve it').waitFor()
    await dialog.getByRole('button', { name: 'Destroy' }).click()
    await page.getByText(`warder officers ask destroy ${key}`).waitFor()
    await opened.assertAccessible()
    await page.getByLabel('Reason, for the officers').fill('the shop has closed')
    await page.getByText(`warder officers ask destroy ${key} --reason 'the shop has closed'`).waitFor()
    await page.getByRole('button', { name: 'Request the approval' }).click()
    const link = page.getByRole('link', { name: 'Open the request' })
    await link.waitFor()
    const [request] = await as('bob').call('access.approvals.list')
    assert.deepEqual([request?.operation, request?.key, request?.state], ['destroy', key, 'open'])
    assert.equal(request?.reason, 'the shop has closed')
    assert.equal(await link.getAttribute('href'), `/ui/approvals/${request?.id}`)

    await page.getByRole('tab', { name: 'Grants' }).click()
    await page.getByLabel('Name', { exact: true }).fill('carl')
    await page.getByRole('checkbox', { name: 'Read the material in clear' }).check()
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByText(`warder officers ask grant ${key} carl encrypt decrypt getattributes get`).waitFor()
    opened.assertNoErrors()
  })

  it('offers a user with few rights only what these permit', async () => {
    const key = await newKey({ kty: 'oct', alg: 'A256GCM' })
    const unreadable = await newKey({ kty: 'oct', alg: 'A256GCM' })
    const secret = await newKey({ kty: 'oct', alg: 'A256GCM' })
    const bob = as('bob')
    const grant = (kid: string, ...rights: string[]) =>
      bob.call('access.grant', { body: { unique_identifier: kid, user_id: 'carl', operation_types: rights } })
    await grant(key, 'encrypt', 'getattributes')
    await grant(unreadable, 'encrypt')
    await using opened = await open('carl', '/ui/keys')
    const { page } = opened
    await page.getByRole('heading', { name: 'You have no keys yet' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Create a key' }).count(), 0)
    await opened.assertAccessible()
    await page.getByRole('link', { name: 'Keys of others that I may use' }).click()
    await page.getByRole('link', { name: key }).click()
    await page.getByRole('heading', { name: 'A256GCM key' }).waitFor()
    await page.getByText('No tags').waitFor()
    for (const verb of ['Rotate', 'Disable', 'Destroy', 'Change dates', 'Change the rotation'])
      await page.getByRole('button', { name: verb }).waitFor({ state: 'detached' })
    for (const tab of ['Grants', 'Uses']) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByText('You lack the right authorize').waitFor()
    }
    await page.getByRole('tab', { name: 'Try it' }).click()
    await page.getByRole('radio', { name: 'Decrypt' }).check()
    await page.getByText('You lack the right decrypt').waitFor()
    await opened.goTo('kms', keyPage(unreadable))
    await page.getByText('You lack the right getattributes').waitFor()
    await opened.assertAccessible()
    await opened.goTo('kms', keyPage(secret))
    await page.getByRole('alert').waitFor()
    await opened.goTo('kms', '/ui/create-key')
    await page.getByRole('heading', { name: 'You may not create keys here' }).waitFor()
    opened.assertNoErrors()
  })

  it('encrypts, decrypts, signs, verifies and computes MACs in the page', async () => {
    const [secret, signing, mac] = [
      await newKey({ kty: 'oct', alg: 'A256GCM' }),
      await newKey({ kty: 'EC', crv: 'P-256', alg: 'ES256' }),
      await newKey({ kty: 'oct', alg: 'HS256' }),
    ]
    await using opened = await open('bob', keyPage(secret, 'try'))
    const { page } = opened
    const copyResult = async (): Promise<string> => {
      await page.getByRole('region', { name: 'Result' }).getByRole('button', { name: 'Copy' }).click()
      return page.evaluate('navigator.clipboard.readText()')
    }
    await page.getByLabel('Text', { exact: true }).fill('Grüße')
    await page.getByRole('button', { name: 'Encrypt' }).click()
    const jwe = await copyResult()
    assert.deepEqual(Object.keys(JSON.parse(jwe)), ['protected', 'encrypted_key', 'iv', 'ciphertext', 'tag'])
    await page.getByRole('radio', { name: 'Decrypt' }).check()
    await page.getByLabel('Encrypted data').fill('{"protected":"e30"}')
    await page.getByRole('button', { name: 'Decrypt' }).click()
    await page.getByRole('alert').filter({ hasText: 'iv, ciphertext, tag' }).waitFor()
    await page.getByLabel('Encrypted data').fill(jwe)
    await page.getByRole('button', { name: 'Decrypt' }).click()
    assert.equal(await copyResult(), 'Grüße')
    await opened.assertAccessible()

    await opened.goTo('kms', keyPage(signing, 'try'))
    assert.equal(await page.getByRole('radio').count(), 2)
    await page.getByLabel('or a file').setInputFiles({
      ...{ name: 'large', mimeType: 'text/plain' },
      buffer: Buffer.alloc(4 * 1024 * 1024 + 1),
    })
    await page.getByRole('button', { name: 'Sign' }).click()
    await page.getByRole('alert').filter({ hasText: 'larger than 4 MiB' }).waitFor()
    const file = { name: 'a.bin', mimeType: 'text/plain', buffer: Buffer.from([0, 255, 1]) }
    await page.getByLabel('or a file').setInputFiles(file)
    await page.getByRole('button', { name: 'Sign' }).click()
    const jws = await copyResult()
    await page.getByRole('radio', { name: 'Verify' }).check()
    await page.getByLabel('Signature').fill(jws)
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('Not valid').waitFor()
    await page.getByLabel('or a file').setInputFiles(file)
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('● Valid').waitFor()

    const other = await newKey({ kty: 'oct', alg: 'A256GCM' })
    await opened.goTo('kms', keyPage(other, 'try'))
    await page.getByRole('radio', { name: 'Decrypt' }).check()
    await page.getByLabel('Encrypted data').fill(jwe)
    await page.getByRole('button', { name: 'Decrypt' }).click()
    await page.getByRole('alert').filter({ hasText: secret }).waitFor()

    await opened.goTo('kms', keyPage(mac, 'try'))
    await page.getByLabel('Text', { exact: true }).fill('x')
    await page.getByRole('button', { name: 'MAC' }).click()
    const made = JSON.parse(await copyResult())
    await page.getByLabel('MAC to verify').fill(made.mac)
    await page.getByRole('button', { name: 'MAC' }).click()
    await page.getByText('● Valid').waitFor()
    opened.assertNoErrors()
  })

  it('creates a key by its purpose, and imports one from PEM and JWK', async () => {
    await using opened = await open('bob', '/ui/create-key')
    const { page } = opened
    await page.getByRole('radio', { name: 'Sign documents' }).check()
    await page.getByLabel('Algorithm').selectOption('PS256')
    await page.getByLabel('Size of the RSA key').selectOption('2048')
    await page.getByLabel('Tags').fill('releases, ci')
    await page.getByLabel('Ends').fill('2099-01-01')
    await page
      .getByText('warder keys create --alg PS256 --bits 2048 --tag releases --tag ci --not-extractable')
      .waitFor()
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByRole('heading', { name: 'PS256 private key' }).waitFor()
    const kid = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const { tags, bits, ext, deactivation_at } = await as('bob').call('crypto.keys.get', { path: { kid } })
    assert.deepEqual([[...tags].sort(), bits, ext], [['ci', 'releases'], 2048, false])
    assert.equal(deactivation_at, '2099-01-01T00:00:00.000Z')

    await opened.goTo('kms', '/ui/create-key?import=true')
    await opened.assertAccessible()
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const importText = async (text: string): Promise<void> => {
      await page.getByLabel('or its text').fill(text)
      await page.getByRole('button', { name: 'Import the key' }).click()
    }
    await importText(publicKey.export({ format: 'pem', type: 'spki' }).toString())
    await page.getByRole('alert').filter({ hasText: 'public key alone' }).waitFor()
    await importText(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
    await page.getByRole('heading', { name: 'P-384 private key' }).waitFor()
    await opened.goTo('kms', '/ui/create-key?import=true')
    await importText(
      JSON.stringify({ kty: 'oct', k: Buffer.alloc(32, 7).toString('base64url'), alg: 'HS256' }),
    )
    await page.getByRole('heading', { name: 'HS256 key' }).waitFor()
    opened.assertNoErrors()
  })

  it('shows programs that do the same: they run as they are', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'samples-'))
    symlinkSync(
      fileURLToPath(new URL('../../node_modules', import.meta.url)),
      join(directory, 'node_modules'),
    )
    const env = { PATH: process.env.PATH, CA: console.installation.caFile, TOKEN: tokens.get('bob') }
    const run = (title: string, code: string): SpawnSyncReturns<string> => {
      const options = { cwd: directory, env, encoding: 'utf8' } as const
      if (title === 'curl') return spawnSync('bash', ['-ec', code], options)
      const name = title === 'Python' ? 'sample.py' : 'sample.ts'
      writeFileSync(join(directory, name), code)
      if (title === 'TypeScript') return spawnSync(process.execPath, [name], options)
      const has = spawnSync('python3', ['-c', 'import requests'], options).status === 0
      return spawnSync('python3', has ? [name] : ['-m', 'py_compile', name], options)
    }
    const keys: readonly (readonly [string, readonly string[]])[] = [
      [await newKey({ kty: 'oct', alg: 'A256GCM' }), ['Encrypt', 'Decrypt']],
      [await newKey({ kty: 'EC', crv: 'P-256', alg: 'ES256' }), ['Sign', 'Verify']],
      [await newKey({ kty: 'oct', alg: 'HS256' }), ['MAC']],
    ]
    const expected = {
      Encrypt: /^$/,
      Decrypt: /attack at dawn|YXR0YWNr/,
      Sign: /^$/,
      Verify: /true/i,
      MAC: /"mac"/,
    }
    try {
      await using opened = await open('bob', '/ui/keys')
      const { page } = opened
      for (const [kid, operations] of keys) {
        await opened.goTo('kms', keyPage(kid, 'code'))
        for (const title of ['curl', 'TypeScript', 'Python'])
          for (const operation of operations) {
            await page.getByRole('radio', { name: operation }).check()
            await page.getByRole('tab', { name: title }).click()
            const code = await page.getByRole('tabpanel', { name: title }).locator('pre').innerText()
            assert.ok(code.includes(kid) || operation === 'Decrypt' || operation === 'Verify', code)
            const { status, stdout, stderr } = run(title, code)
            assert.equal(status, 0, `${title} ${operation}: ${stderr}${stdout}\n${code}`)
            assert.match(stdout, expected[operation as keyof typeof expected], `${title} ${operation}`)
          }
      }
      opened.assertNoErrors()
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

async function createKey(kms: KmsClient, body: Readonly<Record<string, unknown>>): Promise<string> {
  return (await kms.call('crypto.keys.create', { body: { kty: 'oct', ...body } })).kid
}

describe('filters of the list of keys', () => {
  it('become the query of the service and the options of the command', () => {
    const filter = readFilter(
      new URLSearchParams({
        tag: "it's",
        state: 'waiting',
        expiring: '30',
        unused: '90d',
        owner: '*',
        x: 'y',
      }),
    )
    assert.deepEqual(toQuery(filter, Date.UTC(2026, 0, 31, 12)), {
      excluded_type: 'Certificate',
      awaits_destruction: 'true',
      tag: "it's",
      owner: '*',
      expires_after: '2026-01-31',
      expires_before: '2026-03-03',
      unused_since: '2025-11-02',
    })
    assert.equal(
      toCommand(filter),
      `warder keys list --tag 'it'\\''s' --state waiting --all --expiring 30d --unused 90d`,
    )
  })

  it('leave out what the service would refuse', () => {
    const hostile = { state: 'x', type: 'y', expiring: '-1', unused: '1e9', older: '99999999' }
    assert.deepEqual(readFilter(new URLSearchParams(hostile)), {})
  })
})

describe('the uses of a key', () => {
  const key = (kty: string, object_type: string, key_ops: string[], more = {}) =>
    listUses({ kty, object_type, key_ops, ...more }).map(({ operation, algs }) => [
      operation,
      ...algs.map(({ alg, enc }) => `${alg} ${enc}`.trim()),
    ])

  it('follow from its algorithm and its half', () => {
    assert.deepEqual(key('oct', 'SymmetricKey', ['encrypt', 'decrypt'], { alg: 'A128GCM' }), [
      ['encrypt', 'dir A128GCM'],
      ['decrypt'],
    ])
    assert.deepEqual(key('oct', 'SymmetricKey', ['sign', 'verify'], { alg: 'HS512' }), [['mac', 'HS512']])
    assert.deepEqual(key('EC', 'PublicKey', ['sign', 'verify'], { crv: 'P-384' }), [['verify']])
    assert.deepEqual(key('OKP', 'PrivateKey', ['sign', 'verify'], { crv: 'Ed25519' }), [
      ['sign', 'EdDSA'],
      ['verify'],
    ])
    assert.deepEqual(key('unknown', 'SecretData', ['encrypt']), [])
  })

  it('are of the algorithms that the service has', async () => {
    const { keyAlgorithms } = await import('@warder/command-line/kms')
    const declared = [...keyAlgorithms].filter(([, { optional }]) => optional !== true)
    assert.deepEqual(
      algorithms.map(({ name, kty }) => `${name} ${kty}`).sort(),
      declared.map(([name, { kty }]) => `${name} ${kty}`).sort(),
    )
  })
})
