// Reports long files and fails on logic over 500 lines (tables of data, indexes and tests may be longer).
import { globSync, readFileSync } from 'node:fs'

const files = globSync(['packages/**/*.{ts,tsx}', 'bench/**/*.ts', 'conformance/**/*.ts', 'scripts/**/*.ts'])
  .filter((file) => !file.includes('node_modules'))
  .map((file) => ({ file, lines: readFileSync(file, 'utf8').split('\n').length - 1 }))

const logic = files.filter(
  ({ file }) => !/\.test\.ts$|\.gen\.ts$|\/index\.ts$|\/texts\.ts$|\/tables\/|\/testing\//.test(file),
)
const sorted = logic.map(({ lines }) => lines).sort((a, b) => a - b)
const median = sorted[Math.floor(sorted.length / 2)] ?? 0
process.stdout.write(`${logic.length} files of logic, median ${median} lines\n`)
for (const { file, lines } of logic.filter(({ lines }) => lines > 300).sort((a, b) => b.lines - a.lines)) {
  process.stdout.write(
    `${String(lines).padStart(5)} ${file}${lines > 500 ? '  (over 500: two ideas in one file)' : ''}\n`,
  )
}
process.exit(logic.some(({ lines }) => lines > 500) ? 1 : 0)
