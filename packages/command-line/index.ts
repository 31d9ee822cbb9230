export {
  type Command,
  exitNotValid,
  findHome,
  homeOption,
  selectHome,
  sliceBeforeSeparator,
  toExitCode,
} from './commands/command.ts'
export {
  type Option,
  type Options,
  optionsHelp,
  optionsUsage,
  parseTime,
  quoteOption,
  readArguments,
  readDuration,
  readKnownOptions,
  requireNoNames,
  requireOneName,
  UsageError,
  type Values,
  type ValuesOf,
} from './commands/options.ts'
export { runCommand } from './commands/run-command.ts'
export {
  type HomeContext,
  homeVerb,
  homeVerbsHelp,
  runHomeVerb,
  verbCommand,
} from './commands/verb-command.ts'
export { createVerbHelp, formatVerbs, readVerb, type Verb } from './commands/verbs.ts'
export { styleError, styleHelp } from './terminal/colour.ts'
export { type Progress, type ProgressOutput, progressBar } from './terminal/progress.ts'
export { createShow, formatJson, formatTable, formatTime, printable } from './terminal/table.ts'
export { createTerminal, type Terminal } from './terminal/terminal.ts'
export {
  confirm,
  NoAnswer,
  openUserTerminal,
  type Prompter,
  readAll,
  terminalPrompter,
  type UserTerminal,
} from './terminal/user-terminal.ts'
export { fitHelp } from './terminal/width.ts'
