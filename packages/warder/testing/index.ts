export { missingPrograms, readCommands, runCommands } from './guide.ts'
export {
  cleanEnvironment,
  type Installation,
  readLinesToPaste,
  runWarder,
  startInstallation,
  temporaryHome,
} from './installation.ts'
export { locksOn, lookInto } from './other-program.ts'
export { type OwnAuthority, ownAuthority } from './own-authority.ts'
export { command, program } from './program.ts'
export { until } from './until.ts'
