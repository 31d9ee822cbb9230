// Writes the pictures of the guides: `node packages/console/testing/pictures.ts`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startConsole } from './console.ts'

const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'pictures')
const size = { width: 1200, height: 760 }

mkdirSync(folder, { recursive: true })
await using console = await startConsole()
const { password } = console.installation

for (const key of [
  { kty: 'oct', alg: 'A256GCM', tags: ['orders', 'prod'] },
  { kty: 'EC', crv: 'P-256', alg: 'ES256', tags: ['invoices'] },
  { kty: 'RSA', bits: 2048, alg: 'RS256', tags: ['partners'] },
  { kty: 'oct', alg: 'HS256', tags: ['webhooks'] },
])
  await console.admin('kms', 'POST', '/v1/crypto/keys', key)
await console.admin('kms', 'POST', '/v1/pki/authorities', { subject: 'CN=Example Root', alg: 'ES256' })

for (const [name, path] of [
  ['keys', '/ui/keys'],
  ['certificates', '/ui/authorities'],
  ['audit', '/ui/audit'],
] as const) {
  await using opened = await console.open(size)
  await opened.logInAtKms(path, '_', 'admin', password)
  await opened.page.getByRole('table').first().waitFor()
  if (name === 'certificates') await opened.page.getByRole('link', { name: 'Example Root' }).click()
  if (name === 'certificates')
    await opened.page.getByRole('heading', { name: 'Issued certificates' }).waitFor()
  await opened.page.waitForLoadState('networkidle')
  await opened.page.screenshot({ path: join(folder, `${name}.png`) })
}
await using opened = await console.open(size)
await opened.logIn('_', 'admin', password)
await opened.goTo('auth', '/ui/account')
await opened.page.waitForLoadState('networkidle')
await opened.page.screenshot({ path: join(folder, 'account.png') })
