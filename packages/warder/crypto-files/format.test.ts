import assert from 'node:assert/strict'
import { createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { decryptFile, encryptFile } from './encrypt-file.ts'
import { wrappingContext } from './wrapped-key.ts'

/** A reader written from docs/reference/file-format.md alone: it shares no code with the product. */
function readByTheBook(file: Buffer, dataKey: Buffer): Buffer {
  assert.equal(file.subarray(0, 7).toString('hex'), '57415244455246')
  const format = file.readUInt8(7)
  assert.ok([1, 2, 3].includes(format))
  const prefix = file.subarray(8, 15)
  const jweEnd = 19 + file.readUInt32BE(15)
  const mac = file.subarray(jweEnd, jweEnd + 32)
  const label = format === 2 ? 'warder file v2' : 'warder file v1'
  const derive = (info: string) => Buffer.from(hkdfSync('sha256', dataKey, '', `${label} ${info}`, 32))
  const covered = file.subarray(0, format === 1 ? jweEnd : 15)
  const header = createHmac('sha256', derive('header')).update(covered).digest()
  if (format !== 3) assert.ok(header.equals(mac))
  const key = derive('chunks')
  const sealedChunk = 1_048_576 + 16
  const parts: Buffer[] = []
  for (let at = jweEnd + 32, counter = 0; at < file.length; at += sealedChunk, counter += 1) {
    const chunk = file.subarray(at, at + sealedChunk)
    const nonce = Buffer.alloc(12)
    prefix.copy(nonce)
    nonce.writeUInt32BE(counter, 7)
    nonce[11] = at + sealedChunk >= file.length ? 1 : 0
    const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(mac).setAuthTag(chunk.subarray(-16))
    parts.push(decipher.update(chunk.subarray(0, -16)), decipher.final())
  }
  return Buffer.concat(parts)
}

test('the format is the documented one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-format-'))
  try {
    for (const length of [0, 5, 1_048_576, 2_500_000]) {
      const input = join(folder, `${length}`)
      const output = join(folder, `${length}.sealed`)
      const plain = randomBytes(length)
      writeFileSync(input, plain)
      let dataKey = Buffer.alloc(0)
      await encryptFile({ input, output, overwrite: false }, async (key) => {
        dataKey = Buffer.from(key)
        return {
          protected: 'e30',
          encrypted_key: '',
          iv: 'a',
          ciphertext: 'b',
          tag: 'c',
          aad: wrappingContext,
        }
      })
      assert.equal(dataKey.length, 32)
      assert.ok(readByTheBook(readFileSync(output), dataKey).equals(plain))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the files of the documentation open, of each format, with this code and by the book', async () => {
  const page = readFileSync(new URL('../../../docs/reference/file-format.md', import.meta.url), 'utf8')
  const files = [...page.matchAll(/```\n([0-9a-f\n]{200,})```/g)].map(([, hex = '']) =>
    Buffer.from(hex.replaceAll('\n', ''), 'hex'),
  )
  assert.deepEqual(
    files.map((file) => file[7]),
    [2, 1, 3],
  )
  const dataKey = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
  const folder = mkdtempSync(join(tmpdir(), 'warder-format-'))
  try {
    for (const [index, file] of files.entries()) {
      assert.equal(readByTheBook(file, dataKey).toString(), 'hello')
      const [input, output] = [join(folder, `${index}.in`), join(folder, `${index}.out`)]
      writeFileSync(input, file)
      const { kid } = await decryptFile({ input, output, overwrite: false }, async () => Buffer.from(dataKey))
      assert.equal(kid, index === 2 ? 'n' : 'k')
      assert.equal(readFileSync(output, 'utf8'), 'hello')
    }
    // The third is the second with another wrapped key.
    const [, first = Buffer.alloc(0), renewed = Buffer.alloc(0)] = files
    assert.ok(first.subarray(8, 19).equals(renewed.subarray(8, 19)))
    assert.ok(first.subarray(-53).equals(renewed.subarray(-53)))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
