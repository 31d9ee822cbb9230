import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sharedKey, TestIdp } from '@warder/auth/testing'
import { issueCertificate } from '@warder/server'
import { missingPrograms, readCommands, runCommands } from '../testing/guide.ts'
import { type Installation, startInstallation } from '../testing/installation.ts'

const skip = missingPrograms('cut', 'sed', 'curl')

let warder: Installation
let folder: string
before(async () => {
  if (skip !== false) return
  folder = mkdtempSync(join(tmpdir(), 'warder-guide-'))
  warder = await startInstallation({ env: { KMS_TRANSIT_ENABLED: 'true' } })
})
after(async () => {
  if (skip !== false) return
  await warder.stop()
  rmSync(folder, { recursive: true, force: true })
})

const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** Runs a page against the installation and checks that its output says all of this. */
async function follow(
  commands: readonly string[],
  env: Readonly<Record<string, string>>,
  expected: readonly RegExp[],
): Promise<void> {
  const { status, text } = await runCommands(commands, folder, { WARDER_HOME: warder.home, ...env })
  assert.equal(status, 0, text)
  for (const sentence of expected) assert.match(text, sentence)
}

test('the commands of the README work, in their order', { skip }, async () => {
  const commands = readCommands('README.md')
  assert.equal(commands.length, 1)
  copyFileSync(new URL('../../../README.md', import.meta.url), join(folder, 'README.md'))
  await follow(commands, {}, [
    /^README\.md\.warder {2}written/m,
    /^bob may now: decrypt/m,
    /^ok .*audit.kms: /m,
  ])
  assert.equal(read('the-same.md'), read('README.md'))
})

test('the commands of the guide to SAML work, in their order', { skip }, async () => {
  const place = { spEntityId: 'https://auth.example.com/saml/staff' }
  const idp = new TestIdp({ key: await sharedKey('idp'), acsUrl: `${place.spEntityId}/acs`, ...place })
  const wishes = {
    requestId: '_x',
    now: 1_700_000_000,
    attributes: { groups: ['cashiers'], mail: ['ann@example.com'] },
  }
  writeFileSync(join(folder, 'idp.xml'), idp.metadata())
  writeFileSync(join(folder, 'response.txt'), Buffer.from(idp.response(wishes)).toString('base64'))
  const [first = '', ...rest] = readCommands('docs/how-to/saml.md')
  assert.match(first, /^AUTH=https/)
  const addresses = { AUTH: warder.authUrl, CA: warder.caFile, PASSWORD: warder.password }
  await follow([first.replace(/^(AUTH|CA|PASSWORD)=.*$/gm, ''), ...rest], addresses, [
    /^Assertion consumer service .* https:\/\/auth\.example\.com\/saml\/staff\/acs$/m,
    /<md:SPSSODescriptor AuthnRequestsSigned="true"/,
    /^accepted: ann with roles cashiers and claims mail /m,
  ])
  assert.equal(JSON.parse(read('keys.json')).length, 2)
})

test('the commands of the guide to certificates work, in their order', {
  skip: skip || missingPrograms('openssl', 'grep'),
}, async () => {
  const [first = '', ...rest] = readCommands('docs/how-to/pki.md')
  const addresses = { H: warder.home, KMS: warder.kmsUrl }
  await follow([first.replace(/^(H|KMS)=.*$/gm, ''), ...rest], addresses, [
    /CN=Acme Issuing,O=Acme/,
    /^www\.pem {2}written/m,
    /^www\.pem: OK$/m,
    /^names +DNS:www\.acme\.example$/m,
    /revoked, keyCompromise$/m,
    /Response verify OK/,
    /^www\.pem: revoked$/m,
  ])
})

test('the commands of the guide to keys work, in their order', { skip }, async () => {
  const [first = '', ...rest] = readCommands('docs/start/kms.md')
  assert.match(first, /^H=\.warder/)
  assert.ok(rest.length >= 6)
  const addresses = { H: warder.home, AUTH: warder.authUrl, KMS: warder.kmsUrl }
  // The addresses of this installation take the place of those that the page sets.
  await follow([first.replace(/^(H|AUTH|KMS)=.*$/gm, ''), ...rest], addresses, [
    /"ciphertext":"/,
    /"data":"aGVsbG8"/,
    /"valid":true/,
    /"user_id":"bob"/,
    /"status":200,"result":/,
  ])
})

test('the commands of the guide to transit work, in their order', { skip }, async () => {
  const [first = ''] = readCommands('docs/start/kms.md')
  // Those for keys in an HSM are run by hsm.test.ts.
  const [commands = ''] = readCommands('docs/how-to/transit.md')
  const addresses = { H: warder.home, AUTH: warder.authUrl, KMS: warder.kmsUrl }
  await follow([first.replace(/^(H|AUTH|KMS)=.*$/gm, ''), commands], addresses, [
    /"ciphertext":"vault:v1:/,
    /"latest_version":2/,
  ])
})

test('the hospital of the guide to attribute-based encryption reads what its policies say', {
  skip,
}, async () => {
  const [first = '', ...rest] = readCommands('docs/how-to/abe.md')
  assert.match(first, /^alias warder=/)
  assert.ok(rest.length >= 6)
  await follow(rest, {}, [
    /^[0-9a-f-]{36} {2}ABE, master\n[0-9a-f-]{36} {2}ABE, public, digest [\w-]{43}$/m,
    /^refused: nurses read no diagnoses$/m,
    /^refused: charts are for care$/m,
    /^Role +Clerk < Nurse < Physician$/m,
    /^Purpose +Care, Research \(hybridized\)$/m,
    /Active +Department::Cardiology && Role::Nurse && Purpose::Care +x +- +- +x +x +- +x +-$/m,
    /Active +Department::Cardiology && Role::Physician +x +- +- +x +x +x +x +x$/m,
    /Active +Purpose::Research && Role::Clerk +x +x +x +x +- +- +- +x$/m,
    /Role::Nurse && Purpose::Care +yes\n.*Role::Physician +yes\n.*Role::Clerk +no$/m,
    /changed, digest [\w-]{43}; 2 user keys refreshed$/m,
    /^refused: oncology is closed$/m,
  ])
  for (const [copy, text] of [
    ['chart-for-nurse.txt', 'pulse 72, blood pressure 120/80\n'],
    ['chart-for-physician.txt', 'pulse 72, blood pressure 120/80\n'],
    ['series-for-researcher.txt', 'series 7, anonymous\n'],
    ['chart-2-for-physician.txt', 'pulse 68\n'],
    ['chart-again.txt', 'pulse 72, blood pressure 120/80\n'],
  ] as const)
    assert.equal(read(copy), text)
  assert.ok(!existsSync(join(folder, 'stolen.txt')) && !existsSync(join(folder, 'closed.warder')))
})

test('the commands of the guide to KMIP work, in their order', {
  skip: skip === false ? missingPrograms('openssl') : skip,
}, async () => {
  const [first = '', ...rest] = readCommands('docs/how-to/kmip.md')
  assert.match(first, /^alias warder=/)
  assert.ok(rest.length >= 6)
  const { kmip } = JSON.parse(readFileSync(join(warder.home, 'endpoints.json'), 'utf8'))
  await follow(rest, { KMS: warder.kmsUrl, SOCKET: `${kmip.host}:${kmip.port}` }, [
    /^storage-1\.crt and storage-1\.key: storage-1, until /m,
    /^Versions: 2\.1, 2\.0, 1\.4, 1\.3, 1\.2, 1\.1, 1\.0$/m,
    /Verification: OK/,
    /"tag":"ActivateResponse"/,
    /"tag":"AuthenticatedEncryptionTag"/,
    /"tag": "LocatedItems"|"tag": "UniqueIdentifier"/,
    /ProtocolVersionMajor/,
    /"operation":"kmip\.Encrypt".*"principal":"storage-1"/,
  ])
})

test('the commands of the pages of devices work, page by page', {
  skip: skip === false ? missingPrograms('openssl', 'cat') : skip,
}, async () => {
  const vendors = 'dell hitachi hpe ibm netapp nutanix pure qnap synology tape vast vmware'.split(' ')
  for (const page of ['README', ...vendors]) {
    const issued = /^[\w-]+\.crt and [\w-]+\.key: |^[\w-]+\.pem {2}written$/m
    await follow(readCommands(`docs/how-to/devices/${page}.md`), {}, [issued])
  }
})

test('the commands of the guides to external key stores work, in their order', { skip }, async () => {
  await follow(readCommands('docs/how-to/external-aws.md'), {}, [
    /now enables it: restart the service/,
    /External key ID +[0-9a-f-]{36}/,
    /^aws: disabled in the settings of the server$/m,
    /^aws:arn:aws:iam::123456789012:role\/backup may now: encrypt, decrypt, getattributes/m,
    /^Secret access key +\S{43,64}$/m,
    /^aws: stopped by admin at /m,
  ])
  assert.equal(JSON.parse(read('xks.json')).XksProxyUriPath, '/aws/kms/xks/v1')
  const authority = await issueCertificate(
    {
      commonName: 'Azure',
      purpose: 'authority',
      hostnames: [],
      addresses: [],
      notBefore: new Date(Date.now() - 1000),
      notAfter: new Date(Date.now() + 1e9),
    },
    undefined,
  )
  const der = new X509Certificate(authority.certificatePem).raw.toString('base64')
  const pool = { caCertificates: [der], subjectCommonName: 'contoso.managedhsmclient.azure.net' }
  writeFileSync(join(folder, 'pool.json'), JSON.stringify(pool))
  await follow(readCommands('docs/how-to/external-azure.md'), {}, [
    /az keyvault ekm-connection create --hsm-name HSM/,
    /^azure: disabled in the settings of the server$/m,
    /^azure:contoso\.managedhsmclient\.azure\.net may now: /m,
    /^azure: stopped by admin at /m,
  ])
  await follow(readCommands('docs/how-to/external-google.md'), {}, [
    /External key service +name Warder, URL https:.*\/google_cse$/m,
    /^google: disabled in the settings of the server$/m,
    /not before the restart/,
    /^google: stopped by admin at /m,
  ])
  await follow(readCommands('docs/how-to/external-microsoft.md'), {}, [
    /Key service URL +https:.*\/ms_dke\/finance$/m,
    /^microsoft: disabled in the settings of the server$/m,
    /^microsoft:role:Legal may now: decrypt/m,
    /not before the restart/,
    /^microsoft: stopped by admin at /m,
  ])
})

test('the commands of the guide to Kubernetes work, in their order', { skip }, async () => {
  const [first = '', ...rest] = readCommands('docs/how-to/kubernetes.md')
  assert.match(first, /^alias warder=/)
  await follow(rest, { AUTH: warder.authUrl, KMS: warder.kmsUrl, CA: warder.caFile }, [
    /^v2 ok, key id [0-9a-f-]{36}$/m,
    /"version":2,/,
    /"message":"the provider has stopped"|the provider has stopped/,
  ])
  assert.ok(!existsSync(join(folder, 'run', 'kms.sock')))
})

test('the commands of the guide to rotation work, in their order', { skip }, async () => {
  const [first = '', ...rest] = readCommands('docs/how-to/rotation.md')
  assert.match(first, /^alias warder=/)
  await follow(rest, {}, [
    /^[0-9a-f-]{36} {2}version 2: [0-9a-f-]{36}$/m,
    /^ +2 {2}[0-9a-f-]{36} {2}Active .* protects$/m,
    /^ +1 {2}[0-9a-f-]{36} {2}Active .*Z$/m,
    /^last-year\.txt {2}valid, signed by key /m,
    /^last-year\.txt\.warder {2}would be rewrapped, version 1 to 3 of key /m,
    /^last-year\.txt\.warder {2}rewrapped, version 1 to 3 of key /m,
    /^this-year\.txt\.warder {2}rewrapped, version 2 to 3 of key /m,
    /^[0-9a-f-]{36} {2}every 90 days, after 2147483648 messages, next /m,
    /^[0-9a-f-]{36} {2}.*decrypts versions 3 and later$/m,
    /^[0-9a-f-]{36} {2}version 1 of .*: Destroyed$/m,
  ])
  assert.equal(read('ledger.txt'), 'balance of last year\n')
  assert.equal(read('last-year.txt'), 'balance of last year\n')
  assert.equal(read('this-year.txt'), 'balance of this year\n')
})

test('the commands of the guide to rights work, in their order', { skip }, async () => {
  await follow(readCommands('docs/how-to/who-may-do-what.md'), {}, [
    /^role:corp\/auditor +getattributes +prod$/m,
    /^bob may encrypt with key /m,
    /^ {2}for: encrypt is granted to group:on-call \(group:on-call > group:ops > app:web-\*\)\.$/m,
    /^not allowed: exit code 3$/m,
    /^bob +\S+ +admin +encrypt +group +group:on-call/m,
    /"user_id": "app:web-\*"/,
    /^memberships +1 +deleted +group:ops$/m,
    /access\.explain/,
  ])
  const [head, ...lines] = read('rights.csv').trimEnd().split('\r\n')
  assert.equal(head, 'user_id,unique_identifier,owner_id,right,way,granted_to,tag,last_used')
  assert.ok(lines.some((line) => line.startsWith('"carol"') && line.includes('"group:on-call"')))
  const then = read('rights-then.csv')
  assert.ok(then.includes('"carol"') && !then.includes('"dan"'))
})
