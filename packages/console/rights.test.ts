import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Console, missingChromium, startConsole } from './testing/console.ts'
import { createUsers, type Users } from './testing/users.ts'

const script = '<img src=x onerror=alert(1)>'
const formula = '=HYPERLINK("https://evil.example")'

describe('rights in the console', { skip: missingChromium }, () => {
  let console: Console
  let users: Users
  const call: Users['call'] = (...request) => users.call(...request)

  before(async () => {
    console = await startConsole({
      KMS_ROLES_CRYPTO_OFFICER_USERS: 'ann,ben,cid',
      KMS_APPROVALS_CREDENTIAL_WAIT: '0',
    })
    users = await createUsers(console.installation, ['ann', 'ben', 'alice', 'bob', 'carol'])
    for (const user of ['alice', 'carol'])
      await call('ann', 'POST', '/access/grant', { user_id: user, operation_types: ['create'] })
  })
  after(() => console?.[Symbol.asyncDispose]())

  const createKey = async (...tags: string[]): Promise<string> =>
    (await call('alice', 'POST', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags })).kid
  const grant = (body: object) => call('alice', 'POST', '/access/grant', body)

  async function openAs(name: string, path: string, options?: Parameters<Console['open']>[0]) {
    const opened = await console.open(options)
    await opened.logInAtKms(path, '_', name, `the password of ${name}`)
    await opened.page.locator('main h1').waitFor()
    opened.page.on('dialog', () => assert.fail('a script of a name ran'))
    return opened
  }

  it('explains a refusal, and the same use after a grant', async () => {
    const key = await createKey()
    const question = new URLSearchParams({ user: 'bob', key, operation: 'encrypt' })
    await using alice = await openAs('alice', `/ui/access/explain?${question}`)
    const { page } = alice
    await page.getByRole('heading', { name: 'bob may not encrypt' }).waitFor()
    await page.getByRole('row', { name: /Forbids the use No grant/ }).waitFor()
    await alice.assertAccessible()
    await grant({ unique_identifier: key, user_id: 'bob', operation_types: ['encrypt'] })
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.reload()
    await page.getByRole('heading', { name: 'bob may encrypt' }).waitFor()
    await page.getByRole('row', { name: /Grants the right Grant by name/ }).waitFor()
    await using bob = await openAs('bob', `/ui/access/explain?${new URLSearchParams({ user: 'alice', key })}`)
    await bob.page.getByRole('alert').filter({ hasText: 'Key not found.' }).waitFor()
    await bob.assertAccessible()
  })

  it('shows who may what as a matrix and a list, now and at a date, and names never run', async () => {
    const key = await createKey(formula, script)
    const before = new Date().toISOString()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await grant({ tag: formula, user_id: 'carol', operation_types: ['decrypt'] })
    await call('alice', 'PUT', '/access/groups/risky', { members: [script, formula, 'bob'], version: 0 })
    await grant({ unique_identifier: key, user_id: 'group:risky', operation_types: ['encrypt'] })

    await call('alice', 'POST', '/v1/crypto/aliases', { alias: 'alias/named', kid: key })

    await using alice = await openAs('alice', `/ui/access?${new URLSearchParams({ key })}`)
    const { page } = alice
    const matrix = page.getByRole('table', { name: 'Rights by user and key' })
    await matrix.getByRole('row', { name: 'alice every right' }).waitFor()
    await matrix.getByRole('columnheader', { name: 'named', exact: true }).waitFor()
    await matrix.getByRole('row', { name: `${script} encrypt` }).waitFor()
    await alice.assertAccessible()
    await matrix.getByRole('row', { name: 'bob encrypt' }).getByRole('link', { name: 'encrypt' }).click()
    await page.getByRole('row', { name: /bob .* encrypt By a group group:risky/ }).waitFor()
    await alice.goTo('kms', `/ui/access?${new URLSearchParams({ key, layout: 'list' })}`)
    await page.getByRole('row', { name: /carol/ }).waitFor()
    await alice.assertAccessible()
    await page.getByRole('button', { name: 'Copy table' }).click()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    await page.getByText('Copied').waitFor()
    const csv = String(await page.evaluate('navigator.clipboard.readText()'))
    assert.ok(csv.includes(`"'=HYPERLINK(""https://evil.example"")"`), csv)
    assert.ok(!/(^|,)"?=/m.test(csv), csv)
    assert.equal(await page.locator('main img').count(), 0)

    await using ann = await openAs('ann', `/ui/access?${new URLSearchParams({ key, as_of: before })}`)
    await ann.page.getByRole('row', { name: 'alice every right' }).waitFor()
    assert.equal(await ann.page.getByRole('row', { name: /carol/ }).count(), 0)
    await ann.assertAccessible()
    await alice.goTo('kms', `/ui/access?${new URLSearchParams({ key, as_of: before })}`)
    await page.getByRole('alert').filter({ hasText: 'as_of is for crypto officers.' }).waitFor()
  })

  it('grants by tag, and revokes', async () => {
    const key = await createKey('prod')
    await using alice = await openAs('alice', '/ui/access/tags', { colorScheme: 'dark' })
    const { page } = alice
    await page.getByLabel('Tag', { exact: true }).fill('prod')
    await page.getByLabel('User, group or role').fill('bob')
    await page.getByLabel('Rights', { exact: true }).fill('encrypt')
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    const row = page.getByRole('row', { name: new RegExp(`bob ${key} encrypt`) })
    await row.waitFor()
    await alice.assertAccessible()
    await row.getByRole('button', { name: 'Revoke' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Revoke encrypt by the tag prod from bob' })
    await dialog.waitFor()
    await alice.assertAccessible()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
  })

  it('blocks a user at once, from what a leaver has, and transfers the keys', async () => {
    const key = (await call('carol', 'POST', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).kid
    await using carol = await openAs('carol', '/ui/access/mine')
    await carol.page
      .getByRole('row', { name: new RegExp(key) })
      .first()
      .waitFor()
    await carol.assertAccessible()
    assert.equal(await carol.page.getByRole('link', { name: 'Blocked users' }).count(), 0)

    await using ann = await openAs('ann', '/ui/access/leaver?user=carol')
    const { page } = ann
    await page.getByRole('row', { name: /Keys 1 .*Needs a new owner/ }).waitFor()
    await ann.assertAccessible()
    await page.getByRole('button', { name: 'Block now' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Block carol' })
    await dialog.getByText('Every request of carol is rejected').waitFor()
    await dialog.getByText('1 object owned').waitFor()
    await ann.assertAccessible()
    await dialog.getByRole('button', { name: 'Block now' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.ok((await users.ask('carol', 'GET', '/me')).status >= 400)
    await carol.page.reload()
    await carol.page
      .getByText(/blocked|Log in/)
      .first()
      .waitFor()
    assert.equal(await carol.page.getByText(key).count(), 0)

    await page.getByLabel('New owner').fill('alice')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Transfer' }).click()
    await page.getByRole('alertdialog').getByText('alice becomes the owner of 1 key of carol').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Transfer' }).click()
    await page.getByText('Transferred: 1 objects').waitFor()
    assert.equal((await call('alice', 'GET', `/v1/crypto/keys/${key}`)).owner, 'alice')

    await call('ann', 'POST', '/access/block', { user_id: script, reason: formula })
    await ann.goTo('kms', '/ui/access/blocked')
    await page.getByRole('row', { name: /carol/ }).getByRole('button', { name: 'Unblock' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unblock' }).click()
    await page.getByText('carol is no longer blocked.').waitFor()
    await page.getByText(formula).waitFor()
    await ann.assertAccessible()
    assert.equal((await users.ask('carol', 'GET', '/me')).status, 200)
    await carol.goTo('kms', '/ui/access/blocked')
  })

  it('changes a group only in the version that was read', async () => {
    await using alice = await openAs('alice', '/ui/groups', { width: 375 })
    const { page } = alice
    await page.getByLabel('Name', { exact: true }).fill('ops')
    await page.getByLabel('Members').fill('bob\napp:web-*')
    await page.getByRole('button', { name: 'Create a group' }).click()
    await page.getByRole('heading', { name: 'Group ops', level: 1 }).waitFor()
    await alice.assertAccessible()
    await call('alice', 'PUT', '/access/groups/ops', { members: ['bob', 'carol'], version: 1 })
    await page.getByLabel('Members').fill('bob\ndan')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').first().waitFor()
    assert.deepEqual((await call('alice', 'GET', '/access/groups/ops')).members, ['bob', 'carol'])
    await page.getByRole('button', { name: 'Save over the new version' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The group was changed. It counts on the next request.').waitFor()
    assert.deepEqual((await call('alice', 'GET', '/access/groups/ops')).members, ['bob', 'dan'])
    await using bob = await openAs('bob', '/ui/groups/ops')
    await bob.page.getByText('There is no such group').or(bob.page.getByText('dan')).first().waitFor()
    assert.equal(await bob.page.getByRole('button', { name: 'Save' }).count(), 0)
    await page.getByRole('button', { name: 'Delete the group' }).click()
    await page.getByRole('alertdialog').getByText('2 members lose').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the group' }).click()
    await page.getByText('The group ops was deleted.').waitFor()
    assert.equal((await users.ask('alice', 'GET', '/access/groups/ops')).status, 404)
  })
})
