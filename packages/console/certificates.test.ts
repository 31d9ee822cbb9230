import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { missingOpenssl } from '@warder/pki/testing'
import { newUser } from 'warder/testing'
import { toTree } from './page/rooms/kms/certificates/tree.ts'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

const hostileSubject = 'CN=<img src=x onerror=alert(1)>'
/** RFC 4514 escapes some of its characters. */
const shownSubject = /img src.*onerror/

/** A request of a foreign program. */
function createRequest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'warder-csr-'))
  try {
    const file = join(folder, 'www.csr')
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null']
    const subject = ['-subj', '/CN=www.example', '-addext', 'subjectAltName=DNS:www.example']
    const { status, stderr } = spawnSync('openssl', ['req', '-new', ...key, ...subject, '-out', file])
    assert.equal(status, 0, String(stderr))
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it('shows each authority once in the tree, even where authorities certify each other', () => {
  const authority = (id: string, issuer: string | null) =>
    ({ id, issuer, subject: `CN=${id}` }) as Parameters<typeof toTree>[0][number]
  const tree = toTree([
    authority('leaf', 'middle'),
    authority('one', 'other'),
    authority('other', 'one'),
    authority('root', null),
    authority('middle', 'root'),
    authority('hidden', 'unknown'),
  ])
  const format = (branches: typeof tree): string =>
    branches
      .map(({ authority: { id }, below }) => (below.length === 0 ? id : `${id}(${format(below)})`))
      .join(' ')
  assert.equal(format(tree), 'hidden root(middle(leaf)) one(other)')
})

describe('certificates in the console', { skip: missingChromium || missingOpenssl }, () => {
  let console: Console
  before(async () => {
    console = await startConsole()
    await newUser(console.installation, 'bob')
  })
  after(() => console?.[Symbol.asyncDispose]())

  it('creates an authority, issues a certificate for a request, holds, releases and revokes it', async () => {
    await using opened = await console.open()
    const { page } = opened
    await opened.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    await page.getByText('You may use no authority yet').waitFor()
    await page.getByText('Create an authority').first().click()
    await page.getByLabel('Subject').fill(hostileSubject)
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Create an authority' }).click()
    await page.getByRole('heading', { name: 'Issued certificates' }).waitFor()
    await page.getByText(shownSubject).first().waitFor()
    await page.getByText(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/).waitFor()
    await page.getByText('Issue a certificate for a request').first().click()
    await page.getByLabel('Request (PKCS#10, PEM)').fill(createRequest())
    await opened.assertAccessible()
    await page.getByRole('button', { name: 'Issue a certificate for a request' }).click()
    await page.getByRole('button', { name: 'Revoke' }).waitFor()
    await page
      .getByText(/^(?:DNS:)?www\.example$/)
      .first()
      .waitFor()
    await opened.assertAccessible()

    await revoke('certificateHold')
    await page.getByText('on hold').waitFor()
    await page.getByRole('button', { name: 'End the hold' }).click()
    await page
      .locator('.status')
      .filter({ hasText: /valid$/ })
      .waitFor()
    await revoke('superseded')
    await page.getByText('revoked: superseded').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
    opened.assertNoErrors()

    async function revoke(reason: string): Promise<void> {
      await page.getByRole('button', { name: 'Revoke' }).click()
      const dialog = page.getByRole('alertdialog')
      await dialog.getByLabel('Reason').selectOption(reason)
      await dialog.getByRole('button', { name: 'Revoke' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
  })

  it('shows authorities as a tree, with what they publish, and copies it', async () => {
    const create = (json: object) =>
      console.admin('kms', 'POST', '/v1/pki/authorities', { alg: 'ES256', ...json })
    const root = (await create({ subject: 'CN=Tree Root' })) as { readonly id: string }
    const below = (await create({ subject: 'CN=Tree Issuing', issuer: root.id })) as { readonly id: string }
    await console.admin('kms', 'POST', `/v1/pki/authorities/${below.id}/certificates`, {
      ...{ alg: 'ES256', names: ['tree.example'], days: 30 },
    })
    await using opened = await console.open()
    const { page } = opened
    await opened.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    const shown = page.getByRole('listitem').filter({ hasText: 'Tree Root' })
    const inner = shown.getByRole('listitem')
    assert.match((await inner.textContent()) ?? '', /^CN=Tree Issuing intermediate/)
    await shown.getByText(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/).waitFor()
    assert.equal(await inner.getByText(/^([0-9A-F]{2}:){31}/).count(), 0)
    assert.match((await inner.textContent()) ?? '', /Certificates not expired[12]/)
    await page.getByRole('button', { name: 'Copy table' }).click()
    await opened.assertAccessible()
    await page.getByRole('menuitem', { name: 'As CSV' }).click()
    const csv = await page.evaluate<string>('navigator.clipboard.readText()')
    assert.match(csv, /\r\nCN=Tree Issuing,CN=Tree Root,/)
    await inner.getByRole('link', { name: 'Tree Issuing' }).click()
    await page.getByRole('link', { name: 'Tree Root' }).waitFor()
    await opened.assertAccessible()
  })

  it('shows nothing of an authority to a user without a right on it', async () => {
    await using admin = await console.open()
    await admin.logInAtKms('/ui/authorities', '_', 'admin', console.installation.password)
    await admin.page.getByRole('link', { name: shownSubject }).click()
    await admin.page.getByRole('heading', { name: 'Issued certificates' }).waitFor()
    const path = new URL(admin.page.url()).pathname
    await using opened = await console.open({ colorScheme: 'dark', width: 375 })
    await opened.logInAtKms(path, '_', 'bob', 'the password of bob')
    await opened.page.getByRole('alert').waitFor()
    assert.equal(await opened.page.getByText(shownSubject).count(), 0)
    await opened.assertAccessible()
  })
})
