import { constants, createHash, generateKeyPairSync, publicEncrypt, randomBytes, verify } from 'node:crypto'
import { describeProblem } from './google-answers.ts'
import type { SelfTest } from './google-self-test-context.ts'

const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }

/** Tests Gmail: an administrator wraps the private key of a user, which then signs and decrypts. */
export async function testMail(selfTest: SelfTest): Promise<void> {
  const { ask, exchange, user, administrator, authentication, authorization } = selfTest
  const { expect, step } = exchange
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const claims = {
    resource_name: 'rehearsal/mailbox',
    message_id: '<rehearsal@rehearsal.invalid>',
    spki_hash: createHash('sha256').update(spki).digest('base64'),
    spki_hash_algorithm: 'SHA-256',
  }
  const buildUserRequest = (role: string, more = {}) => ({
    authentication: authentication(user),
    authorization: authorization('gmail', { ...claims, role, ...more }),
    reason: "{client:'gmail' op:'read'}",
  })
  const wrapped = await ask('wrapprivatekey', {
    authentication: authentication(administrator),
    perimeter_id: '',
    private_key: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    reason: 'rehearsal',
  })
  expect('wrapprivatekey, for an administrator', wrapped, 200)
  const { wrapped_private_key } = wrapped.json

  const attributes = randomBytes(64)
  const signing = {
    algorithm: 'SHA256withRSA',
    digest: createHash('sha256').update(attributes).digest('base64'),
    wrapped_private_key,
  }
  const signed = await ask('privatekeysign', { ...buildUserRequest('signer'), ...signing })
  const signature = Buffer.from(String(signed.json.signature ?? ''), 'base64')
  const good = verify('sha256', attributes, publicKey, signature)
  step(
    'privatekeysign, for a signer of Gmail',
    describeProblem(signed, 200) ?? (good ? undefined : 'the signature is invalid'),
  )
  const others = {
    ...buildUserRequest('signer', { spki_hash: Buffer.alloc(32).toString('base64') }),
    ...signing,
  }
  expect('the private key of another user is refused', await ask('privatekeysign', others), 403)

  const contentKey = randomBytes(32)
  const encrypted = {
    algorithm: 'RSA/ECB/OAEPwithSHA-256andMGF1Padding',
    encrypted_data_encryption_key: publicEncrypt({ key: publicKey, ...oaep }, contentKey).toString('base64'),
    wrapped_private_key,
  }
  const member = ['data_encryption_key', contentKey.toString('base64')] as const
  const read = await ask('privatekeydecrypt', { ...buildUserRequest('decrypter'), ...encrypted })
  expect('privatekeydecrypt, for a decrypter', read, 200, member)
  const takeout = await ask('privilegedprivatekeydecrypt', {
    authentication: authentication(administrator),
    reason: 'takeout',
    spki_hash: claims.spki_hash,
    spki_hash_algorithm: 'SHA-256',
    ...encrypted,
  })
  expect('privilegedprivatekeydecrypt, for an administrator', takeout, 200, member)
}
