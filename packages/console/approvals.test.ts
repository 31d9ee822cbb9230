import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Console, missingChromium, type OpenPage, startConsole } from './testing/console.ts'
import { createUsers, type Users } from './testing/users.ts'

const settings = {
  KMS_ROLES_CRYPTO_OFFICER_USERS: 'ann,ben,cid',
  KMS_APPROVALS_OPERATIONS: 'destroy,grant,export,settings',
  KMS_APPROVALS_TAGS: 'guarded',
  KMS_APPROVALS_CREDENTIAL_WAIT: '0',
}

describe('approvals in the console', { skip: missingChromium }, () => {
  let console: Console
  let users: Users
  const call: Users['call'] = (...request) => users.call(...request)

  before(async () => {
    console = await startConsole(settings)
    users = await createUsers(console.installation, ['ann', 'ben', 'cid', 'alice', 'bob'])
    await call('ann', 'POST', '/access/grant', { user_id: 'alice', operation_types: ['create'] })
  })
  after(() => console?.[Symbol.asyncDispose]())

  const createKey = async (): Promise<string> =>
    (await call('alice', 'POST', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['guarded'] })).kid
  const ask = (body: object): Promise<{ readonly id: string; readonly hash: string }> =>
    call('alice', 'POST', '/access/approvals', body)

  async function openAs(name: string, path: string, options?: Parameters<Console['open']>[0]) {
    const opened = await console.open(options)
    await opened.logInAtKms(path, '_', name, `the password of ${name}`)
    return opened
  }

  async function decide({ page }: OpenPage, verb: string): Promise<void> {
    await page.getByRole('button', { name: verb, exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: verb, exact: true }).click()
  }

  it('shows what a request would change, and executes it once, with the approval of two officers', async () => {
    const key = await createKey()
    await call('alice', 'POST', '/v1/crypto/aliases', { alias: 'alias/orders', kid: key })
    const grant = { unique_identifier: key, user_id: 'bob', operation_types: ['encrypt'] }
    await call('alice', 'POST', '/access/grant', grant)
    const { id, hash } = await ask({ operation: 'destroy', key })
    const path = `/ui/approvals/${id}`

    await using ann = await openAs('ann', '/ui/approvals')
    await ann.assertAccessible()
    await ann.page.getByRole('link', { name: 'Destroy a key' }).click()
    await ann.page.getByText('orders', { exact: true }).waitFor()
    for (const text of [key, hash, 'alice']) await ann.page.getByText(text, { exact: true }).first().waitFor()
    await ann.page.getByText('0 of 2').waitFor()
    const changes = ann.page.getByRole('table', { name: 'What it would change' })
    await changes.getByRole('row', { name: /Key Active, 1 version Destroyed/ }).waitFor()
    await changes.getByRole('row', { name: /Rights of others bob End with the key/ }).waitFor()
    await ann.assertAccessible()
    await ann.page.getByRole('button', { name: 'Approve', exact: true }).click()
    await ann.page.getByRole('alertdialog').getByText('Further approvals are needed').waitFor()
    await ann.assertAccessible()
    await ann.page.getByRole('button', { name: 'Cancel' }).click()
    await decide(ann, 'Approve')
    await ann.page.getByText('You have approved this request.').waitFor()
    assert.equal((await call('alice', 'GET', `/v1/crypto/keys/${key}`)).state, 'Active')

    // The link of a notice, on a phone: logs in and returns to the request. A second tab is older than the vote.
    await using ben = await openAs('ben', path, { width: 375, colorScheme: 'dark' })
    const stale = await ben.context.newPage()
    await stale.goto(ben.page.url())
    await stale.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    await ben.page.getByText('1 of 2').waitFor()
    const width = await ben.page.evaluate('document.documentElement.scrollWidth')
    assert.ok(Number(width) <= 375, `the page is ${width} px wide`)
    await ben.assertAccessible()
    await ben.page.getByRole('button', { name: 'Approve', exact: true }).click()
    await ben.page.getByRole('alertdialog').getByText('executes the request at once').waitFor()
    await ben.page.getByRole('alertdialog').getByRole('button', { name: 'Approve' }).click()
    await ben.page.locator('.status', { hasText: 'Done' }).waitFor()
    assert.equal((await users.ask('alice', 'GET', `/v1/crypto/keys/${key}`)).status, 404)

    await stale.getByRole('button', { name: 'Approve', exact: true }).click()
    await stale.getByRole('alertdialog').getByRole('button', { name: 'Approve' }).click()
    await stale.getByRole('alert').filter({ hasText: 'The request is closed: done.' }).waitFor()
    assert.deepEqual((await call('ann', 'GET', `/access/approvals/${id}`)).approved_by, ['ann', 'ben'])

    await ben.goTo('kms', '/ui/approvals?view=decided')
    await ben.page.getByRole('link', { name: 'Destroy a key' }).waitFor()
    ben.assertNoErrors()
  })

  it('refuses and withdraws requests, and shows a plain user the own ones alone', async () => {
    const key = await createKey()
    const rights = { user_id: 'bob', operation_types: ['get'] }
    const why = 'the nightly report needs it'
    const refused = await ask({ operation: 'grant', key, ...rights, reason: why })
    await using ann = await openAs('ann', `/ui/approvals/${refused.id}`)
    await ann.page.getByRole('row', { name: 'Rights of bob none get' }).waitFor()
    await ann.page.getByText(why).waitFor()
    await ann.page.getByRole('button', { name: 'Refuse', exact: true }).click()
    await ann.page.getByLabel('Reason').fill('bob may encrypt instead')
    await ann.assertAccessible()
    await ann.page.getByRole('alertdialog').getByRole('button', { name: 'Refuse' }).click()
    await ann.page.getByText('You have refused this request.').waitFor()
    await using cid = await openAs('cid', `/ui/approvals/${refused.id}`)
    await cid.page.getByText('ann: bob may encrypt instead').waitFor()
    await decide(cid, 'Refuse')
    await cid.page.locator('.status', { hasText: 'Refused' }).waitFor()
    assert.equal(await cid.page.getByRole('button', { name: 'Approve' }).count(), 0)

    const withdrawn = await ask({ operation: 'export', key })
    await using alice = await openAs('alice', '/ui/approvals?view=mine')
    await alice.page.getByRole('link', { name: 'Export a key' }).click()
    await alice.page.getByText('In clear, or wrapped with any key').waitFor()
    assert.equal(await alice.page.getByRole('button', { name: 'Approve' }).count(), 0)
    await decide(alice, 'Withdraw')
    await alice.page.locator('.status', { hasText: 'Withdrawn' }).waitFor()
    await alice.assertAccessible()
    const { state } = await call('alice', 'GET', `/access/approvals/${withdrawn.id}`)
    assert.equal(state, 'withdrawn')

    await using bob = await openAs('bob', `/ui/approvals/${withdrawn.id}`)
    await bob.page.getByText('There is no such request, or you may not see it').waitFor()
    await bob.assertAccessible()
    await bob.goTo('kms', '/ui/officers')
    await bob.page.getByText('You are no crypto officer').waitFor()
    await bob.assertAccessible()
    await ann.goTo('kms', '/ui/officers')
    await ann.page.getByRole('row', { name: /ben Active/ }).waitFor()
    await ann.assertAccessible()
  })

  it('shows the settings of a request beside the present ones, without running hostile names', async () => {
    const hostile = '<img src=x onerror=alert(1)>'
    const next = {
      ...{ crypto_officer_users: ['ann', 'ben', 'cid', hostile], crypto_officer_require_ceremony: true },
      ...{ ceremony_quorum: 3, ceremony_validity: 600, operations: ['destroy'], tags: ['=1+1'] },
      ...{ algorithms: [], owners: [], validity: 3600 },
    }
    const { id } = await call('ann', 'POST', '/access/approvals', { operation: 'settings', settings: next })
    await using ben = await openAs('ben', `/ui/approvals/${id}`)
    ben.page.on('dialog', () => assert.fail('a script of a name ran'))
    await ben.page
      .getByRole('row', { name: `crypto_officer_users ann, ben, cid ann, ben, cid, ${hostile}` })
      .waitFor()
    await ben.page.getByRole('row', { name: 'ceremony_quorum 2 3' }).waitFor()
    assert.equal(await ben.page.locator('img').count(), 0)
    await ben.assertAccessible()
  })
})

describe('ceremonies in the console', { skip: missingChromium }, () => {
  it('activate an officer by shares, and end the activation', async () => {
    await using console = await startConsole({
      ...settings,
      KMS_ROLES_CRYPTO_OFFICER_REQUIRE_CEREMONY: 'true',
    })
    await createUsers(console.installation, ['ann', 'ben', 'cid'])
    await using ann = await console.open()
    await ann.logInAtKms('/ui/officers', '_', 'ann', 'the password of ann')
    await ann.page.getByText('There has been no ceremony yet.').waitFor()
    await ann.assertAccessible()
    const confirm = async ({ page }: OpenPage, verb: string): Promise<void> =>
      page.getByRole('alertdialog').getByRole('button', { name: verb, exact: true }).click()
    await ann.page.getByRole('button', { name: 'Begin a ceremony' }).click()
    await confirm(ann, 'Begin a ceremony')
    await ann.page.getByText('You have 1 of the 2 shares').waitFor()
    await using ben = await console.open()
    await ben.logInAtKms('/ui/officers', '_', 'ben', 'the password of ben')
    const shares = ben.page.getByRole('table', { name: 'Latest ceremony' })
    await shares.getByRole('row', { name: /ann/ }).getByRole('button', { name: 'Give' }).click()
    await confirm(ben, 'Give')
    await ann.goTo('kms', '/ui/officers')
    await ann.page.getByText('You have 2 of the 2 shares').waitFor()
    await ann.page.getByRole('button', { name: 'Activate me' }).click()
    await ann.page.getByRole('row', { name: /ann.*Active/ }).waitFor()
    await ann.assertAccessible()
    await ben.goTo('kms', '/ui/officers')
    await ben.page.getByRole('button', { name: 'End activation' }).click()
    await ben.page.getByRole('alertdialog').getByText('loses the powers of an officer').waitFor()
    await confirm(ben, 'End activation')
    await ben.page.getByRole('row', { name: /ann.*Dormant/ }).waitFor()
  })
})
