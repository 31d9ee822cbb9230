import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { BoundedMap, inHome, StartupError } from '@warder/base'
import { pemText, privateKeyText } from '@warder/pki'
import { issueCertificate } from '@warder/server'
import { type Database, type Seal, UniqueViolation } from '@warder/storage'
import { type KeptSpKey, listSpKeys, openSpKey, spKeyInsertion } from './sp-key-store.ts'

/** A key of the service provider that signs or decrypts. */
export interface SpKey {
  /** PEM. */
  readonly certificate: string
  readonly privateKey: KeyObject
}

/**
 * Reads the operator's keys from PEM files: the first one signs, all are published.
 * @param home base folder of relative names
 * @throws StartupError that names the file
 */
export function readConfiguredKeys(
  home: string,
  keyFiles: readonly string[],
  certificateFiles: readonly string[],
): readonly SpKey[] {
  if (keyFiles.length !== certificateFiles.length)
    throw new StartupError(
      'saml_sp_key_files and saml_sp_certificate_files must have the same number of files',
    )
  return keyFiles.map((keyFile, index) => {
    const certificateFile = certificateFiles[index] ?? ''
    const privateKey = readFile(home, keyFile, (bytes) => createPrivateKey(privateKeyText(bytes)))
    const certificate = readFile(
      home,
      certificateFile,
      (bytes) => new X509Certificate(pemText(bytes, 'CERTIFICATE')),
    )
    const bits = privateKey.asymmetricKeyDetails?.modulusLength ?? 0
    if (privateKey.asymmetricKeyType !== 'rsa' || bits < 2048)
      throw new StartupError(
        `${keyFile}: the key of the SAML service provider must be RSA of at least 2048 bits`,
      )
    if (!certificate.checkPrivateKey(privateKey))
      throw new StartupError(`${certificateFile}: the certificate does not belong to the key in ${keyFile}`)
    return { certificate: certificate.toString(), privateKey }
  })
}

function readFile<T>(home: string, file: string, parse: (bytes: Buffer) => T): T {
  try {
    return parse(readFileSync(inHome(home, file)))
  } catch (error) {
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Identity providers ignore the dates of a certificate in metadata; some administrators check them. */
const years = 20
const day = 86_400

interface NewSpKey {
  /** PEM. */
  readonly certificate: string
  /** DER; to be wiped. */
  readonly pkcs8: Buffer
}

/** Generates an RSA key of 3072 bits, sufficient beyond 2030 (SP 800-57 part 1 §5.6.3). @param now Unix seconds */
export async function newSpKey(now: number): Promise<NewSpKey> {
  const issued = await issueCertificate(
    {
      commonName: 'Warder SAML service provider',
      purpose: 'client',
      hostnames: [],
      addresses: [],
      notBefore: new Date((now - day) * 1000),
      notAfter: new Date((now + years * 365 * day) * 1000),
      keyType: 'rsa',
      rsaBits: 3072,
    },
    undefined,
  )
  return {
    certificate: issued.certificatePem,
    pkcs8: issued.privateKey.export({ format: 'der', type: 'pkcs8' }),
  }
}

/** Keys of the service provider: the same for all realms and, if stored in the database, for all nodes. */
export interface SpKeys {
  /** The current signing key, then all other published keys. All of them decrypt. */
  list(): Promise<readonly [SpKey, ...SpKey[]]>
  /** Keys in the database; undefined if they are files of the operator. */
  readonly stored: SpKeyParts | undefined
}

export interface SpKeyParts {
  readonly db: Database
  readonly seal: Seal
  /** Unix seconds. */
  now(): number
}

/** Normally there are at most two, during a rotation. */
const maxOpened = 8

/**
 * Creates the keys in the database. The first key is generated soon after the first start, or earlier when it is
 * needed.
 */
export function createStoredSpKeys(parts: SpKeyParts): SpKeys {
  const { db, seal, now } = parts
  const opened = new BoundedMap<number, SpKey>(maxOpened)

  async function open({ generation, certificate }: KeptSpKey): Promise<SpKey | undefined> {
    const known = opened.get(generation)
    if (known !== undefined && known.certificate === certificate) return known
    const der = await openSpKey(db, seal, generation)
    if (der === undefined) return undefined
    const key = { certificate, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
    der.fill(0)
    opened.set(generation, key)
    return key
  }

  return {
    stored: parts,
    async list() {
      const kept = await ensureSpKeys(parts)
      const signing = signingKey(kept, now())
      const ordered = [signing, ...kept.filter((key) => key !== signing)]
      const [first, ...others] = (await Promise.all(ordered.map(open))).filter((key) => key !== undefined)
      if (first === undefined) throw new Error('the SAML key is not in the database')
      return [first, ...others]
    },
  }
}

export function createConfiguredSpKeys(keys: readonly [SpKey, ...SpKey[]]): SpKeys {
  return { list: async () => keys, stored: undefined }
}

/** Selects the newest key whose signing time has come; before that, the oldest. @param kept the newest first */
export function signingKey(kept: readonly KeptSpKey[], now: number): KeptSpKey {
  const found = kept.find(({ signsFrom }) => signsFrom <= now) ?? kept.at(-1)
  if (found === undefined) throw new Error('there is no SAML key')
  return found
}

/** Lists all keys in the database, the newest first; generates the first one. */
export async function ensureSpKeys(parts: SpKeyParts): Promise<readonly KeptSpKey[]> {
  const kept = await listSpKeys(parts.db)
  if (kept.length > 0) return kept
  await makeSpKey(parts, { generation: 1, signsFrom: parts.now() })
  return listSpKeys(parts.db)
}

/** Generates a key. When two nodes generate the same generation, one stores it and the other one uses it. */
async function makeSpKey(
  { db, seal, now }: SpKeyParts,
  { generation, signsFrom }: Pick<KeptSpKey, 'generation' | 'signsFrom'>,
): Promise<void> {
  const { certificate, pkcs8 } = await newSpKey(now())
  try {
    await db.commit([spKeyInsertion(seal, { generation, certificate, signsFrom, createdAt: now() }, pkcs8)])
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  } finally {
    pkcs8.fill(0)
  }
}
