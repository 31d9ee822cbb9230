import { constants, createHash, generateKeyPairSync, publicEncrypt } from 'node:crypto'
import {
  administrator,
  awsRights,
  azureRights,
  dataKey,
  findIssuer,
  generatePair,
  type IssuerServer,
  issue,
  pool,
  principal,
  requestContext,
  requestMetadata,
  sendSigned,
  signedBy,
  tenant,
} from '@warder/external-stores/testing'
import { pageOrigin } from './browsers.ts'
import { ok, type Walked, type Walker, walkerOf } from './walked-installation.ts'

/** Keys that the settings of the stores name. */
export interface CloudKeys {
  readonly wrapping: string
  readonly signing: string
  readonly dke: string
}

type Issued = Awaited<ReturnType<typeof issue>>

const provider = 'https://cse.example.com'
const kaclsUrl = `${pageOrigin}/google_cse`
const now = () => Math.floor(Date.now() / 1000)

const grant = (owner: Walker, kid: string, user_id: string, operation_types: readonly string[]) =>
  owner.post('/access/grant', { unique_identifier: kid, user_id, operation_types })

/** Makes the keys, whose ids the next start is to be told of. */
export async function makeCloudKeys({ user }: Walked): Promise<CloudKeys> {
  const alice = await user('alice')
  const make = async (json: object): Promise<string> => (await alice.post('/v1/crypto/keys', json)).json.kid
  const wrapping = await make({ kty: 'oct', alg: 'A256GCM' })
  const signing = await make({ kty: 'RSA', bits: 2048, alg: 'RS256' })
  const dke = await make({ kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256' })
  return { wrapping, signing, dke }
}

/** @param authority file with the authority of Azure's client certificates */
export function cloudSettings(
  keys: CloudKeys,
  issuers: IssuerServer,
  authority: string,
  oldKeyService: string,
): Readonly<Record<string, string>> {
  return {
    KMS_KMS_PUBLIC_URL: pageOrigin,
    KMS_AWS_XKS_ENABLE: 'true',
    KMS_AZURE_EKM_ENABLE: 'true',
    KMS_AZURE_EKM_CA_CERT_FILE: authority,
    KMS_AZURE_EKM_CLIENT_NAMES: pool,
    KMS_GOOGLE_CSE_ENABLE: 'true',
    KMS_GOOGLE_CSE_KEY: keys.wrapping,
    KMS_GOOGLE_CSE_SIGNING_KEY: keys.signing,
    KMS_GOOGLE_CSE_OWNER_DOMAIN: 'example.com',
    KMS_GOOGLE_CSE_IDENTITY_PROVIDERS: `${provider},${issuers.url}/keys/${encodeURIComponent(provider)},cse`,
    KMS_GOOGLE_CSE_ADMINISTRATORS: administrator,
    KMS_GOOGLE_CSE_AUTHORIZATION_KEYS: `${issuers.url}/keys/`,
    KMS_GOOGLE_CSE_INCOMING_URL_WHITELIST: oldKeyService,
    KMS_MS_DKE_ENABLE: 'true',
    KMS_MS_DKE_KEYS: `finance=${keys.dke}`,
    KMS_MS_DKE_TENANTS: tenant,
    KMS_MS_DKE_AUDIENCE: 'https://dke.contoso.com',
    KMS_MS_DKE_AUTHORITY: issuers.url,
  }
}

export async function walkAws({ user, admin, wire }: Walked): Promise<void> {
  const stores = '/v1/external-stores'
  await admin.kms.get(stores)
  const access = `${stores}/aws/access-keys`
  const credential = (await admin.kms.post(access, { region: 'eu-west-1' })).json
  await admin.kms.get(access)
  const alice = await user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  await grant(alice, kid, `aws:${principal}`, awsRights)
  const send = async (rest: string, operation: string, body: object = {}) => {
    const asked = { requestMetadata: requestMetadata(operation), ...body }
    return (await ok(sendSigned(wire('kms'), `/aws/kms/xks/v1/${rest}`, asked, { credential }))).json
  }
  await send('health', 'KmsHealthCheck')
  await send(`keys/${kid}/metadata`, 'CreateKey')
  const algorithm = { encryptionAlgorithm: 'AES_GCM' }
  const sealed = await send(`keys/${kid}/encrypt`, 'Encrypt', { ...algorithm, plaintext: 'SGVsbG8=' })
  await send(`keys/${kid}/decrypt`, 'Decrypt', { ...algorithm, ...sealed })
  await admin.kms.post(`${stores}/aws/check`, {})
  await admin.kms.post(`${stores}/aws/stop`, {})
  await admin.kms.post(`${stores}/aws/start`, {})
  await admin.kms.del(`${access}/${credential.id}`)
}

/** @param authority of the pool's certificate */
export async function walkAzure({ user, wire }: Walked, authority: Issued): Promise<void> {
  const alice = await user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'RSA', bits: 2048 })).json
  await grant(alice, kid, `azure:${pool}`, azureRights)
  const client = await issue(pool, authority)
  const azure = walkerOf(wire('kms', { cert: client.certificatePem, key: client.keyPem }))
  const send = async (rest: string, body: object = {}) =>
    (
      await azure.post(`/azureekm/${rest}?api-version=0.1-preview`, {
        request_context: requestContext,
        ...body,
      })
    ).json
  await send('info')
  await send(`${kid}/metadata`)
  const alg = 'RSA-OAEP-256'
  const { value } = await send(`${kid}/wrapkey`, { alg, value: 'c2VjcmV0LXNlY3JldA' })
  await send(`${kid}/unwrapkey`, { alg, value })
}

/** @param oldKeyService address of the key service that a key is moved from */
export async function walkGoogle(
  { user, wire }: Walked,
  keys: CloudKeys,
  oldKeyService: string,
): Promise<void> {
  const alice = await user('alice')
  await grant(alice, keys.wrapping, 'google:*', ['encrypt', 'decrypt'])
  await grant(alice, keys.signing, 'google:*', ['sign'])
  const email = 'alice@example.com'
  const authentication = async (claims = {}) =>
    signedBy(provider, { iss: provider, aud: 'cse', iat: now(), exp: now() + 300, email, ...claims })
  const authorization = async (application: string, claims = {}) => {
    const iss = findIssuer(application)
    await generatePair(iss)
    const base = { iss, aud: 'cse-authorization', iat: now(), exp: now() + 300, email, kacls_url: kaclsUrl }
    return signedBy(iss, { ...base, kacls_owner_domain: 'example.com', resource_name: 'item', ...claims })
  }
  await generatePair(provider)
  const google = walkerOf(wire('kms'))
  const post = async (operation: string, body: object) =>
    (await google.post(`/google_cse/${operation}`, body)).json
  const drive = async () => ({
    authentication: await authentication(),
    authorization: await authorization('drive', { role: 'writer' }),
  })
  await google.get('/google_cse/status')
  await google.get('/google_cse/certs')
  const { wrapped_key } = await post('wrap', { ...(await drive()), key: dataKey })
  await post('unwrap', { ...(await drive()), wrapped_key })
  await post('digest', { authorization: await authorization('migration', { role: 'verifier' }), wrapped_key })
  await post('rewrap', {
    authorization: await authorization('migration', { role: 'migrator' }),
    original_kacls_url: oldKeyService,
    wrapped_key: 'AAAA',
  })
  const administration = { authentication: await authentication({ email: administrator }) }
  const resource_name = 'item'
  await post('privilegedwrap', { ...administration, key: dataKey, resource_name })
  await post('privilegedunwrap', { ...administration, wrapped_key, resource_name })
  await post('delegate', {
    authentication: await authentication(),
    authorization: await authorization('meet', {
      role: 'writer',
      resource_name: 'meeting_id',
      delegated_to: 'room@rooms.example.com',
    }),
  })

  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const private_key = privateKey.export({ format: 'pem', type: 'pkcs8' })
  const { wrapped_private_key } = await post('wrapprivatekey', {
    ...administration,
    perimeter_id: '',
    private_key,
  })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const hash = {
    spki_hash: createHash('sha256').update(spki).digest('base64'),
    spki_hash_algorithm: 'SHA-256',
  }
  const gmail = async (role: string) => ({
    authentication: await authentication(),
    authorization: await authorization('gmail', { role, message_id: '<42@example.com>', ...hash }),
    wrapped_private_key,
  })
  const digest = createHash('sha256').update('SignedAttributes').digest('base64')
  await post('privatekeysign', { ...(await gmail('signer')), algorithm: 'SHA256withRSA', digest })
  const oaep = { key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const sealed = {
    algorithm: 'RSA/ECB/OAEPwithSHA-256andMGF1Padding',
    encrypted_data_encryption_key: publicEncrypt(oaep, Buffer.from(dataKey, 'base64')).toString('base64'),
  }
  await post('privatekeydecrypt', { ...(await gmail('decrypter')), ...sealed })
  await post('privilegedprivatekeydecrypt', { ...administration, ...sealed, ...hash, wrapped_private_key })
}

export async function walkMicrosoft(
  { user, wire }: Walked,
  keys: CloudKeys,
  issuers: IssuerServer,
): Promise<void> {
  const set = `entra ${tenant}`
  issuers.serveAt(`/${tenant}/discovery/keys`, set)
  await generatePair(set)
  await grant(await user('alice'), keys.dke, 'microsoft:alice@contoso.com', ['decrypt'])
  const anonymous = walkerOf(wire('kms'))
  await anonymous.get('/ms_dke/version')
  const { key } = (await anonymous.get('/ms_dke/finance')).json
  const e = Buffer.from(Number(key.e).toString(16).padStart(6, '0'), 'hex').toString('base64url')
  const jwk = { kty: 'RSA', n: Buffer.from(key.n, 'base64').toString('base64url'), e }
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const value = publicEncrypt(
    { key: jwk, format: 'jwk', padding, oaepHash: 'sha256' } as never,
    Buffer.from('secret'),
  )
  const claims = {
    iss: `https://sts.windows.net/${tenant}/`,
    aud: 'https://dke.contoso.com',
    iat: now(),
    exp: now() + 3600,
    tid: tenant,
    oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
    upn: 'alice@contoso.com',
    ver: '1.0',
  }
  const authorization = `Bearer ${await signedBy(set, claims, { kid: set })}`
  const path = `/ms_dke/finance/${keys.dke}/decrypt`
  await walkerOf(wire('kms', { headers: { authorization } })).post(path, {
    alg: 'RSA-OAEP-256',
    value: value.toString('base64'),
  })
}
