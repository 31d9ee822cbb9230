// Writes the pictures of the guides: `node packages/console/testing/pictures.ts [NAME…]`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startConsole } from './console.ts'

const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'pictures')
const size = { width: 1200, height: 760 }

mkdirSync(folder, { recursive: true })
await using console = await startConsole()
const { password } = console.installation
const names = process.argv.slice(2)
const isWanted = (name: string): boolean => names.length === 0 || names.includes(name)

const kids: string[] = []
for (const key of [
  { kty: 'oct', alg: 'A256GCM', tags: ['orders', 'prod'] },
  { kty: 'EC', crv: 'P-256', alg: 'ES256', tags: ['invoices'] },
  { kty: 'RSA', bits: 2048, alg: 'RS256', tags: ['partners'] },
  { kty: 'oct', alg: 'HS256', tags: ['webhooks'] },
])
  kids.push(readKid(await console.admin('kms', 'POST', '/v1/crypto/keys', key)))
const [orders = '', , , webhooks = ''] = kids
for (const [kid, alias] of [
  [orders, 'alias/orders'],
  [webhooks, 'alias/webhooks'],
] as const)
  await console.admin('kms', 'POST', '/v1/crypto/aliases', { alias, kid })
await console.admin('auth', 'POST', '/admins/realms', {
  ...{ id: 'shop', session_max_age_seconds: 28_800, session_max_stale_age_seconds: 1800 },
  auth_params: { username_password_params: { allow_expired_passwords: false } },
})
for (const username of ['ann', 'ben']) await console.createUser(username, { realm: 'shop' })
for (const [username, kid, ...operation_types] of [
  ['ann', orders, 'encrypt', 'decrypt'],
  ['ben', orders, 'encrypt'],
  ['ben', webhooks, 'mac'],
] as const) {
  const grant = { unique_identifier: kid, user_id: `shop/${username}`, operation_types }
  await console.admin('kms', 'POST', '/access/grant', grant)
}
const authorities = '/v1/pki/authorities'
const root = (await console.admin('kms', 'POST', authorities, {
  ...{ subject: 'CN=Example Root', alg: 'ES256' },
})) as { readonly id: string }
for (const name of ['Servers', 'Devices'])
  await console.admin('kms', 'POST', authorities, {
    ...{ subject: `CN=Example ${name}`, alg: 'ES256', issuer: root.id },
  })

for (const [name, path] of [
  ['keys', '/ui/keys'],
  ['certificates', '/ui/authorities'],
  ['audit', '/ui/audit'],
  ['create-key', '/ui/create-key'],
  ['key', `/ui/keys/${orders}`],
  ['access', '/ui/access'],
] as const) {
  if (!isWanted(name)) continue
  await using opened = await console.open(size)
  await opened.logInAtKms(path, '_', 'admin', password)
  if (['keys', 'audit', 'access'].includes(name)) await opened.page.getByRole('table').first().waitFor()
  if (name === 'certificates') await opened.page.getByRole('link', { name: 'Example Root' }).waitFor()
  if (name === 'audit') await opened.page.locator('canvas').waitFor()
  await opened.page.waitForLoadState('networkidle')
  await opened.page.screenshot({ path: join(folder, `${name}.png`) })
}
for (const [name, path] of [
  ['first-steps', '/ui/first-steps'],
  ['account', '/ui/account'],
] as const) {
  if (!isWanted(name)) continue
  await using opened = await console.open(size)
  await opened.logIn('_', 'admin', password)
  await opened.goTo('auth', path)
  await opened.page.waitForLoadState('networkidle')
  await opened.page.screenshot({ path: join(folder, `${name}.png`) })
}

function readKid(reply: unknown): string {
  const { kid, private_kid: half } = reply as { readonly kid?: string; readonly private_kid?: string }
  return kid ?? half ?? ''
}
