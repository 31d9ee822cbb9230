import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createHeldClock, day, newFolder } from './fixtures/certificates.ts'
import { ensureLocalAuthority } from './local-authority.ts'

/** More rounds for a long run: WARDER_RENEWAL_KILLS=500 npm test -- renewal-kill */
const kills = Number(process.env.WARDER_RENEWAL_KILLS ?? 6)
const home = newFolder()
after(() => rmSync(home, { recursive: true }))

/** Renews in a process of its own, and kills that some time after it has begun. @returns days that it renewed through */
async function renewAndKill(folder: string, afterMs: number): Promise<number> {
  const program = fileURLToPath(new URL('fixtures/renewing.ts', import.meta.url))
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString()
      resolve()
    })
  })
  await new Promise((resolve) => setTimeout(resolve, afterMs))
  const closed = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await closed
  return Number(output.trimEnd().split('\n').at(-1))
}

test(`renewal of certificates that is killed ${kills} times leaves none without its key, and is finished by the next start`, async () => {
  for (let round = 0; round < kills; round += 1) {
    const folder = join(home, String(round), 'tls')
    const days = await renewAndKill(folder, 20 + ((round * 7) % 50))
    const clock = createHeldClock()
    // A minute later, so that the lock of the killed process is known to be left behind.
    clock.advance(days * day + 60_000)
    const certificates = ['auth', 'kms'].map((name) => ({ name, commonName: `Warder ${name}` }))
    await ensureLocalAuthority({ folder, clock, certificates })
    const authority = new X509Certificate(readFileSync(join(folder, 'ca.crt')))
    for (const name of ['ca', 'auth', 'kms']) {
      const certificate = new X509Certificate(readFileSync(join(folder, `${name}.crt`)))
      const key = createPrivateKey(readFileSync(join(folder, `${name}.key`)))
      assert.ok(certificate.checkPrivateKey(key), `${name}, round ${round}`)
      assert.ok(certificate.verify(authority.publicKey), `${name}, round ${round}`)
      assert.ok(certificate.validToDate.getTime() > clock.now(), `${name}, round ${round}`)
    }
  }
})
