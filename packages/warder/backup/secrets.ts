import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { UsageError } from '@warder/command-line'
import { readSecretFile } from '@warder/command-line/files'
import { BackupRefused } from './lines.ts'
import type { Recipients, Unlock } from './wrapped-keys.ts'

/** Options with the secret that opens a backup. */
export const unlockOptions = {
  'passphrase-file': {
    type: 'text',
    value: 'FILE',
    help: 'file with the passphrase (default: WARDER_BACKUP_PASSPHRASE)',
  },
  key: { type: 'text', value: 'FILE', help: 'private key (X25519, PEM) of a recipient of the backup' },
} as const

/** Options with the recipients of a backup. */
export const recipientOptions = {
  'passphrase-file': unlockOptions['passphrase-file'],
  to: {
    type: 'list',
    value: 'FILE',
    help: 'public key (X25519, PEM) of a recipient; repeatable',
  },
} as const

type Env = Readonly<Record<string, string | undefined>>

/** Shorter passphrases can be guessed offline. */
const minPassphraseLength = 12

/** @throws UsageError when there is neither a passphrase nor a recipient */
export function readRecipients(file: string | undefined, keys: readonly string[], env: Env): Recipients {
  const passphrase = readPassphrase(file, env)
  if (passphrase === undefined && keys.length === 0)
    throw new UsageError(
      'a backup must be encrypted: give --passphrase-file FILE or WARDER_BACKUP_PASSPHRASE, or --to with a public key (openssl genpkey -algorithm X25519 creates the private key)',
    )
  if (passphrase !== undefined && passphrase.length < minPassphraseLength)
    throw new BackupRefused(`the passphrase has fewer than ${minPassphraseLength} characters`)
  return { passphrase, publicKeys: keys.map((path) => readX25519Key(path, createPublicKey)) }
}

/** @throws UsageError when there is neither a passphrase nor a key */
export function readUnlock(file: string | undefined, key: string | undefined, env: Env): Unlock {
  const passphrase = readPassphrase(file, env)
  if (passphrase === undefined && key === undefined)
    throw new UsageError(
      'a backup is encrypted: give --passphrase-file FILE or WARDER_BACKUP_PASSPHRASE, or --key',
    )
  return { passphrase, privateKey: key === undefined ? undefined : readX25519Key(key, createPrivateKey) }
}

function readPassphrase(file: string | undefined, env: Env): string | undefined {
  if (file !== undefined) return readSecretFile(file, 'the passphrase')
  const given = env.WARDER_BACKUP_PASSPHRASE
  return given === undefined || given === '' ? undefined : given
}

function readX25519Key(path: string, read: (pem: Buffer) => KeyObject): KeyObject {
  let key: KeyObject
  try {
    key = read(readFileSync(path))
  } catch (error) {
    throw new BackupRefused(`${path} contains no such key: ${error instanceof Error ? error.message : error}`)
  }
  if (key.asymmetricKeyType !== 'x25519')
    throw new BackupRefused(`${path} contains a key of type ${key.asymmetricKeyType}; X25519 is required`)
  return key
}
