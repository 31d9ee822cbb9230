// The static checks: types, format and lint, licences of dependencies, file lengths. `npm run check`.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const steps = [
  ['types', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']],
  ['types of the console', ['node_modules/typescript/bin/tsc', '-p', 'packages/console/page/tsconfig.json']],
  ['format and lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']],
  ['licences of dependencies', ['scripts/licences.ts']],
  ['generated documents', ['scripts/docs.ts', '--check']],
  ['file lengths', ['scripts/file-lengths.ts']],
]

let failed = 0
for (const [name, args] of steps) {
  const result = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  const ok = result.status === 0
  if (!ok) failed += 1
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'} ${name}\n`)
}
process.exit(failed === 0 ? 0 : 1)
