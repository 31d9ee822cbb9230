import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedKey } from '@warder/auth/testing'
import type { SimpleSamlPhp } from './simplesamlphp-place.ts'

/** Public address of the identity provider; requests go to the port behind it. */
export const idpOrigin = 'https://idp.example'

export interface Page {
  readonly status: number
  readonly text: string
  readonly location: string | undefined
}

/** A running SimpleSAMLphp as an identity provider of the user `student`, and a browser's way to it. */
export interface RunningIdp extends AsyncDisposable {
  /** A page of the identity provider, with the cookies of this browser. @param url under `idpOrigin` */
  open(url: string, form?: Readonly<Record<string, string>>): Promise<Page>
  /** Makes the service provider known. @param options PHP, e.g. `'assertion.encryption' => true` */
  trust(spMetadata: string, options: string): void
}

const config = (folder: string, home: string): string => `<?php
$config = [
  'baseurlpath' => '${idpOrigin}/', 'certdir' => '${home}/cert/', 'loggingdir' => '${home}/log/', 'datadir' => '${home}/data/',
  'tempdir' => '${home}/tmp', 'timezone' => 'UTC', 'secretsalt' => 'warderconformance', 'auth.adminpassword' => 'not used here',
  'technicalcontact_name' => 'x', 'technicalcontact_email' => 'x@example.com', 'logging.handler' => 'file',
  'enable.saml20-idp' => true, 'module.enable' => ['exampleauth' => true, 'core' => true, 'saml' => true],
  'session.cookie.secure' => false, 'session.phpsession.savepath' => '${home}/tmp', 'session.phpsession.cookiename' => 'SSP',
  'session.duration' => 28800, 'session.datastore.timeout' => 14400, 'session.state.timeout' => 3600, 'session.cookie.name' => 'SSPID',
  'session.cookie.lifetime' => 0, 'session.cookie.path' => '/', 'session.cookie.domain' => '', 'session.phpsession.httponly' => true,
  'session.authtoken.cookiename' => 'SSPAuth', 'store.type' => 'phpsession', 'language.default' => 'en', 'theme.use' => 'default',
  'metadata.sources' => [['type' => 'flatfile', 'directory' => '${home}/metadata']], 'metadatadir' => '${home}/metadata',
  'production' => true, 'debug' => ['saml' => false], 'showerrors' => true, 'errorreporting' => false, 'trusted.url.domains' => [],
  'templatedir' => '${folder}/templates', 'authproc.idp' => [], 'authproc.sp' => [], 'headers.security' => [],
];
`

const authSources = `<?php
$config = ['example' => ['exampleauth:UserPass', 'student:studentpass' => [
  'uid' => ['student'], 'mail' => ['student@example.org'], 'groups' => ['member', 'student', 'member'], 'other' => ['secret'],
]]];
`

const hosted = `<?php
$metadata['${idpOrigin}/metadata'] = [
  'host' => '__DEFAULT__', 'privatekey' => 'idp.key', 'certificate' => 'idp.crt', 'auth' => 'example',
  'SingleLogoutServiceBinding' => ['urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'], 'sign.logout' => true,
  'NameIDFormat' => ['urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'],
  'authproc' => [1 => ['class' => 'saml:AttributeNameID', 'attribute' => 'uid', 'Format' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent']],
];
`

const remote = (home: string, options: string): string => `<?php
$parsed = \\SimpleSAML\\Metadata\\SAMLParser::parseString(file_get_contents('${home}/sp.xml'));
$sp = $parsed->getMetadata20SP();
unset($sp['entityDescriptor'], $sp['expire'], $sp['metadata-set']);
$metadata[$sp['entityid']] = array_merge($sp, ['attributes' => ['uid', 'mail', 'groups'], 'validate.authnrequest' => true, 'validate.logout' => true, ${options}]);
`

/** The web server of PHP on a free port, with a home of its own. */
export async function startSimpleSamlPhp(found: SimpleSamlPhp): Promise<RunningIdp> {
  const home = mkdtempSync(join(tmpdir(), 'warder-ssp-home-'))
  for (const name of ['cert', 'log', 'data', 'tmp', 'metadata', 'config']) mkdirSync(join(home, name))
  const { certificate, privateKey } = await sharedKey('simplesamlphp')
  const write = (name: string, text: string): void => writeFileSync(join(home, name), text, { mode: 0o600 })
  write('cert/idp.key', privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
  write('cert/idp.crt', certificate)
  write('config/config.php', config(found.folder, home))
  write('config/authsources.php', authSources)
  write('metadata/saml20-idp-hosted.php', hosted)
  const port = await freePort()
  const words = [
    ...found.phpOptions,
    '-d',
    'display_errors=0',
    '-S',
    `127.0.0.1:${port}`,
    '-t',
    join(found.folder, 'www'),
  ]
  const env = { ...process.env, ...found.env, SIMPLESAMLPHP_CONFIG_DIR: join(home, 'config') }
  const child: ChildProcess = spawn(found.php, words, { env, stdio: 'ignore' })
  const cookies = new Map<string, string>()
  const open: RunningIdp['open'] = (url, form) => ask(port, url, form, cookies)
  for (let tries = 0; ; tries++) {
    const page = await open(`${idpOrigin}/saml2/idp/metadata.php`).catch(() => undefined)
    if (page !== undefined) break
    if (tries > 100 || child.exitCode !== null) throw new Error('SimpleSAMLphp did not start')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    open,
    trust(spMetadata, options) {
      write('sp.xml', spMetadata)
      write('metadata/saml20-sp-remote.php', remote(home, options))
    },
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.kill()
      await ended
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

function ask(
  port: number,
  url: string,
  form: Readonly<Record<string, string>> | undefined,
  cookies: Map<string, string>,
): Promise<Page> {
  const { pathname, search, host } = new URL(url, idpOrigin)
  const body = form === undefined ? undefined : new URLSearchParams(form).toString()
  const headers = {
    host,
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    ...(body === undefined
      ? {}
      : {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': String(Buffer.byteLength(body)),
        }),
  }
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request(
      { host: '127.0.0.1', port, path: pathname + search, method, headers },
      (response) => {
        for (const one of response.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
          cookies.set(name, value)
        }
        let text = ''
        response.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, location: response.headers.location }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
