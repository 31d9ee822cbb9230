import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Installation, startInstallation } from 'warder/testing'
import type { ClientRun, Step } from './client-run.ts'
import { runProgram } from './run-program.ts'
import { createBrowser, makeSamlRealm } from './saml-realm.ts'
import { idpOrigin, type RunningIdp, startSimpleSamlPhp } from './simplesamlphp-idp.ts'
import { findSimpleSamlPhp, type SimpleSamlPhp, unpackSimpleSamlPhp } from './simplesamlphp-place.ts'

/** Outcome of a login of `student`. */
export interface SimpleSamlRun {
  /** Claims of the session, without those that differ from run to run. */
  readonly claims: Readonly<Record<string, unknown>>
  /** Verdict about an assertion that it encrypts: this release encrypts with CBC only. */
  readonly encrypted: string
  /** Address of the browser after a single logout, and the session's answer then. */
  readonly afterLogout: { readonly location: string; readonly whoami: number }
  /** Verdict of xmllint on our metadata by the OASIS schema; undefined: xmllint is not installed. */
  readonly schema: string | undefined
}

/** SimpleSAMLphp as the identity provider of a realm: login, encrypted assertion, single logout, metadata. */
export async function driveSimpleSamlPhp(found: SimpleSamlPhp): Promise<SimpleSamlRun> {
  await using idp = await startSimpleSamlPhp(found)
  const warder = await startInstallation()
  try {
    const idpMetadata = (await idp.open(`${idpOrigin}/saml2/idp/metadata.php`)).text
    await makeSamlRealm(warder, idpMetadata)
    const auth = createBrowser(warder)
    const metadata = (await auth.call('GET', '/saml/sso/metadata')).text
    auth.close()
    idp.trust(metadata, "'assertion.encryption' => false")
    const { claims, cookie } = await logIn(warder, idp)
    const afterLogout = await logOut(warder, idp, cookie)
    idp.trust(metadata, "'assertion.encryption' => true")
    const encrypted = await logIn(warder, idp).then(
      () => 'accepted',
      (error: unknown) => String(error),
    )
    return {
      claims,
      encrypted,
      afterLogout,
      schema: found.xmllint === undefined ? undefined : await schemaVerdict(found, found.xmllint, metadata),
    }
  } finally {
    await warder.stop()
  }
}

/** The steps of a browser: to Warder, to the identity provider, its form, its page that posts by itself, and back. */
async function logIn(
  warder: Installation,
  idp: RunningIdp,
): Promise<{ readonly claims: Readonly<Record<string, unknown>>; readonly cookie: string }> {
  const auth = createBrowser(warder)
  try {
    const begun = await auth.call('GET', '/saml/sso/login')
    const loginCookie = cookieIn(begun.headers['set-cookie'], '_ea_saml')
    const shown = await follow(idp, String(begun.headers.location))
    let { text } = shown
    if (text.includes('name="password"')) {
      const form = { username: 'student', password: 'studentpass', AuthState: fieldIn(text, 'AuthState') }
      text = (await idp.open(shown.url, form)).text
    }
    const fields = { SAMLResponse: fieldIn(text, 'SAMLResponse'), RelayState: fieldIn(text, 'RelayState') }
    const done = await auth.call('POST', '/saml/sso/acs', {
      body: new URLSearchParams(fields).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        cookie: `_ea_saml=${loginCookie}`,
        origin: idpOrigin,
      },
    })
    if (done.status !== 200) throw new Error(`the response was refused: ${done.text}`)
    const cookie = cookieIn(done.headers['set-cookie'], '_ea_')
    const who = await auth.call('GET', '/whoami', { cookie })
    const { sub, roles, mail, other, as_as, as_rid } = JSON.parse(who.text)
    return { claims: { sub, roles, mail, other, as_as, as_rid }, cookie }
  } finally {
    auth.close()
  }
}

async function logOut(
  warder: Installation,
  idp: RunningIdp,
  cookie: string,
): Promise<SimpleSamlRun['afterLogout']> {
  const auth = createBrowser(warder)
  try {
    const headers = { cookie: `_ea_=${cookie}` }
    const begun = await auth.call('GET', '/saml/sso/logout?return_to=https://app.example/bye', { headers })
    const { url } = await follow(idp, String(begun.headers.location), warder.authUrl)
    const back = await auth.call('GET', url.slice(warder.authUrl.length))
    const who = await auth.call('GET', '/whoami', { headers })
    return { location: String(back.headers.location), whoami: who.status }
  } finally {
    auth.close()
  }
}

/** Follows redirects until there is a page, or a URL under `stop`. */
async function follow(
  idp: RunningIdp,
  first: string,
  stop = 'nowhere',
): Promise<{ readonly url: string; readonly text: string }> {
  let url = first
  for (let steps = 0; steps < 10; steps++) {
    if (url.startsWith(stop)) return { url, text: '' }
    const { location, text, status } = await idp.open(url)
    if (location === undefined) {
      if (status !== 200) throw new Error(`the identity provider answers ${status}: ${text.slice(0, 500)}`)
      return { url, text }
    }
    url = new URL(location, url).href
  }
  throw new Error('too many redirects')
}

async function schemaVerdict(
  { folder, env }: SimpleSamlPhp,
  xmllint: string,
  metadata: string,
): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), 'warder-metadata-'))
  const file = join(place, 'sp.xml')
  writeFileSync(file, metadata)
  const schema = join(folder, 'schemas/saml-schema-metadata-2.0.xsd')
  const { err } = await runProgram(xmllint, ['--nonet', '--noout', '--schema', schema, file], { env })
  rmSync(place, { recursive: true, force: true })
  return err.replaceAll(file, 'metadata').trim()
}

function fieldIn(html: string, name: string): string {
  const input = new RegExp(`<input[^>]*name="${name}"[^>]*>`).exec(html)?.[0] ?? ''
  const value = /value="([^"]*)"/.exec(input)?.[1]
  if (value === undefined) throw new Error(`the page has no field ${name}: ${html.slice(0, 2000)}`)
  return value.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#039;', "'")
}

function cookieIn(header: string | readonly string[] | undefined, name: string): string {
  const found = [header ?? []].flat().find((one) => one.startsWith(`${name}=`))
  return found?.slice(name.length + 1).split(';')[0] ?? ''
}

/** For the page of clients. */
export async function runSimpleSamlPhp(): Promise<readonly ClientRun[]> {
  const here = findSimpleSamlPhp()
  const root = here === undefined ? await unpackSimpleSamlPhp() : undefined
  const found = here ?? (root === undefined ? undefined : findSimpleSamlPhp(root))
  if (found === undefined) return [{ missing: 'SimpleSAMLphp: apt-get cannot download it' }]
  try {
    const run = await driveSimpleSamlPhp(found)
    const steps: Step[] = [
      { step: 'login with mapped attributes', passed: run.claims.sub === 'student' },
      { step: 'assertion encrypted with CBC is refused', passed: run.encrypted.includes('use AES-GCM') },
      { step: 'single logout', passed: run.afterLogout.whoami === 401 },
    ]
    if (run.schema !== undefined)
      steps.push({
        step: 'metadata by the OASIS schema',
        passed: run.schema === 'metadata validates',
        why: run.schema,
      })
    return [
      {
        client: 'SimpleSAMLphp (Debian)',
        version: '1.19.7',
        way: 'identity provider of a realm, SAML 2.0',
        steps,
      },
    ]
  } finally {
    if (root !== undefined) rmSync(root, { recursive: true, force: true })
  }
}
