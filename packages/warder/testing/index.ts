export {
  cleanEnvironment,
  type Installation,
  runWarder,
  startInstallation,
  temporaryHome,
} from './installation.ts'
