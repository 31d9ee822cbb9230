import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { KmsContext } from '@warder/command-line/kms'
import { macVerb } from '../crypto/mac.ts'
import { decryptFile, encryptFile } from './encrypt-file.ts'
import { computePayload, readSignature } from './signature.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-open-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Every way in which a command reads a file. */
function everyReader(input: string): readonly (() => Promise<unknown>)[] {
  const never = () => assert.fail('the key management service was asked')
  const options = { input, output: join(folder, 'output'), overwrite: false }
  return [
    () => encryptFile(options, never),
    () => decryptFile(options, never),
    () => computePayload(input),
    () => readSignature(input),
    () => macVerb.parse({ key: 'k' }, [input])({} as KmsContext),
  ]
}

test('a pipe that nobody writes to, a device and a folder are refused at once by what reads files', {
  skip: process.platform === 'win32',
}, async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, '/dev/zero', folder]) {
    for (const read of everyReader(path)) {
      await assert.rejects(read, { name: 'FileRefused', message: `${path} is not a file` })
    }
  }
})
