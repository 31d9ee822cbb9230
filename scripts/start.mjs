// `npm start`: starts both services from a bundle of the sources as they are now, which needs two thirds of the memory
// and half of the processor time of the sources themselves. WARDER_FROM_SOURCES=1: from the sources, for lines of stack
// traces.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
let program = join(root, 'packages', 'warder', 'bin', 'warder.mjs')
if (process.env.WARDER_FROM_SOURCES === '1') {
  const { status } = spawnSync(process.execPath, [join(root, 'packages', 'console', 'build.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) process.exit(1)
} else {
  // In a separate process, so that this process, which stays, does not keep its memory.
  const maker = join(root, 'scripts', 'bundle', 'checkout.ts')
  const { status, stdout } = spawnSync(process.execPath, [maker], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  if (status !== 0) process.exit(1)
  if (stdout !== '') program = join(stdout, 'bin', 'warder.mjs')
}
process.argv.splice(1, 1, program, 'start')
await import(pathToFileURL(program).href)
