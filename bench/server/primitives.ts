import {
  constants,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  sign,
} from 'node:crypto'

/**
 * Speed of bare `node:crypto` on one core: the limit for whatever the kms does with a key. Each entry measures itself
 * for some seconds and gives operations per second of processor time, nothing around them.
 */
export function primitives(): ReadonlyMap<string, (seconds: number) => number> {
  const message = randomBytes(64)
  const aes = createSecretKey(randomBytes(32))
  const hmac = createSecretKey(randomBytes(32))
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const iv = randomBytes(12)
  const encrypt = (): { ciphertext: Buffer; tag: Buffer } => {
    const cipher = createCipheriv('aes-256-gcm', aes, iv)
    const ciphertext = Buffer.concat([cipher.update(message), cipher.final()])
    return { ciphertext, tag: cipher.getAuthTag() }
  }
  const sealed = encrypt()
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
  const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const wrapped = publicEncrypt({ key: rsa, ...oaep }, randomBytes(32))
  const decrypt = (): void => {
    const decipher = createDecipheriv('aes-256-gcm', aes, iv)
    decipher.setAuthTag(sealed.tag)
    decipher.update(sealed.ciphertext)
    decipher.final()
  }
  const operations: readonly [name: string, work: () => void][] = [
    ['AES-256-GCM encrypt 64 B', encrypt],
    ['AES-256-GCM decrypt 64 B', decrypt],
    ['ES256 sign', () => sign('sha256', message, { key: ec, dsaEncoding: 'ieee-p1363' })],
    ['RS256 (2048) sign', () => sign('sha256', message, rsa)],
    ['PS256 (2048) sign', () => sign('sha256', message, { key: rsa, ...pss })],
    ['RSA-OAEP-256 (2048) decrypt', () => privateDecrypt({ key: rsa, ...oaep }, wrapped)],
    ['HS256', () => createHmac('sha256', hmac).update(message).digest()],
  ]
  return new Map(operations.map(([name, work]) => [name, (seconds: number) => rate(seconds, work)]))
}

/** Counted by processor time of this process, so that another program on the core does not change it. */
function rate(seconds: number, work: () => void): number {
  for (let index = 0; index < 200; index += 1) work()
  const until = performance.now() + seconds * 1000
  const before = process.cpuUsage()
  let count = 0
  while (performance.now() < until) {
    for (let index = 0; index < 20; index += 1) work()
    count += 20
  }
  const used = process.cpuUsage(before)
  return count / ((used.user + used.system) / 1e6)
}
