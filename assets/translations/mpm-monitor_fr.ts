<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="fr_FR" sourcelanguage="en_GB">
<context>
<name>mpm::gui::Actions</name>
<message><source>Export every measurement</source>
<translation>Exporter toutes les mesures</translation></message>
<message><source>Export the measurements shown</source>
<translation>Exporter les mesures montrées</translation></message>
<message><source>Tables (*.csv);;JSON (*.json)</source>
<translation>Tableaux (*.csv);;JSON (*.json)</translation></message>
<message><source>&amp;Export the measurements shown…</source>
<translation>&amp;Exporter les mesures montrées…</translation></message>
<message><source>Export e&amp;very measurement…</source>
<translation>Exporter &amp;toutes les mesures…</translation></message>
<message><source>Export the &amp;timeline…</source>
<translation>Exporter la &amp;chronologie…</translation></message>
<message><source>Export the timeline</source>
<translation>Exporter la chronologie</translation></message>
<message><source>&amp;File</source>
<translation>&amp;Fichier</translation></message>
<message><source>Open &amp;source…</source>
<translation>Ouvrir une &amp;source…</translation></message>
<message><source>Open a source</source>
<translation>Ouvrir une source</translation></message>
<message><source>Add a source</source>
<translation>Ajouter une source</translation></message>
<message><source>&amp;Close this source</source>
<translation>&amp;Fermer cette source</translation></message>
<message><source>&amp;Built-in street</source>
<translation>&amp;Rue intégrée</translation></message>
<message><source>Open &amp;model…</source>
<translation>Ouvrir un &amp;modèle…</translation></message>
<message><source>Open a model</source>
<translation>Ouvrir un modèle</translation></message>
<message><source>ONNX models (*.onnx)</source>
<translation>Modèles ONNX (*.onnx)</translation></message>
<message><source>Shipped mo&amp;del</source>
<translation>Modèle &amp;livré</translation></message>
<message><source>&amp;Quit</source>
<translation>&amp;Quitter</translation></message>
<message><source>&amp;Colours</source>
<translation>&amp;Couleurs</translation></message>
<message><source>As the &amp;system</source>
<translation>Comme le &amp;système</translation></message>
<message><source>&amp;Light</source>
<translation>&amp;Clair</translation></message>
<message><source>&amp;Dark</source>
<translation>&amp;Sombre</translation></message>
<message><source>Switch &amp;light and dark</source>
<translation>Basculer &amp;clair et sombre</translation></message>
<message><source>&amp;View</source>
<translation>&amp;Affichage</translation></message>
<message><source>Zoom &amp;in</source>
<translation>Zoom a&amp;vant</translation></message>
<message><source>Zoom &amp;out</source>
<translation>Zoom a&amp;rrière</translation></message>
<message><source>Class &amp;outlines</source>
<translation>C&amp;ontours des classes</translation></message>
<message><source>&amp;More opaque</source>
<translation>&amp;Plus opaque</translation></message>
<message><source>L&amp;ess opaque</source>
<translation>&amp;Moins opaque</translation></message>
<message><source>Classes for &amp;colour-blind eyes</source>
<translation>Classes pour les &amp;daltoniens</translation></message>
<message><source>&amp;Side panel</source>
<translation>Panneau &amp;latéral</translation></message>
<message><source>&amp;Full screen</source>
<translation>P&amp;lein écran</translation></message>
<message><source>&amp;Analysis</source>
<translation>A&amp;nalyse</translation></message>
<message><source>&amp;Pause</source>
<translation>&amp;Pause</translation></message>
<message><source>Merge before block 5</source>
<translation>Fusionner avant le bloc 5</translation></message>
<message><source>Merge before blocks 2 and 5</source>
<translation>Fusionner avant les blocs 2 et 5</translation></message>
<message><source>Merge before blocks 2, 5 and 8</source>
<translation>Fusionner avant les blocs 2, 5 et 8</translation></message>
<message><source>&amp;Day and night…</source>
<translation>&amp;Jour et nuit…</translation></message>
<message><source>Analyse</source>
<translation>Analyser</translation></message>
<message><source>Every frame</source>
<translation>Chaque image</translation></message>
<message><source>Once a second</source>
<translation>Une fois par seconde</translation></message>
<message><source>Every 10 seconds</source>
<translation>Toutes les 10 secondes</translation></message>
<message><source>Once a minute</source>
<translation>Une fois par minute</translation></message>
<message><source>Every … seconds</source>
<translation>Toutes les … secondes</translation></message>
<message><source>&amp;Timeline</source>
<translation>&amp;Chronologie</translation></message>
<message><source>Last minute</source>
<translation>Dernière minute</translation></message>
<message><source>Last 10 minutes</source>
<translation>10 dernières minutes</translation></message>
<message><source>Last hour</source>
<translation>Dernière heure</translation></message>
<message><source>Last day</source>
<translation>Dernier jour</translation></message>
<message><source>Last week</source>
<translation>Dernière semaine</translation></message>
<message><source>Everything</source>
<translation>Tout</translation></message>
<message><source>&amp;Help</source>
<translation>A&amp;ide</translation></message>
<message><source>&amp;About</source>
<translation>À &amp;propos</translation></message>
<message><source>The password is not kept: %1</source>
<translation>Le mot de passe n&apos;est pas conservé : %1</translation></message>
<message><source>The password is in the keychain</source>
<translation>Le mot de passe est dans le trousseau</translation></message>
<message><source>&amp;Watch</source>
<translation>&amp;Surveiller</translation></message>
<message><source>&amp;Alerts…</source>
<translation>&amp;Alertes…</translation></message>
<message><source>&amp;Regions and privacy…</source>
<translation>&amp;Régions et vie privée…</translation></message>
<message><source>&amp;Publishing…</source>
<translation>&amp;Publication…</translation></message>
<message><source>&amp;Draw a region</source>
<translation>&amp;Dessiner une région</translation></message>
<message><source>Draw a &amp;mask</source>
<translation>Dessiner un &amp;masque</translation></message>
<message><source>Record a &amp;video</source>
<translation>Enregistrer une &amp;vidéo</translation></message>
<message><source>Export the ima&amp;ge…</source>
<translation>Exporter l&apos;ima&amp;ge…</translation></message>
<message><source>Export the image</source>
<translation>Exporter l&apos;image</translation></message>
<message><source>Images (*.png *.svg)</source>
<translation>Images (*.png *.svg)</translation></message>
<message><source>Images (*.svg *.png)</source>
<translation>Images (*.svg *.png)</translation></message>
<message><source>&amp;Add a source…</source>
<translation>&amp;Ajouter une source…</translation></message>
<message><source>Open &amp;video or image…</source>
<translation>Ouvrir une &amp;vidéo ou une image…</translation></message>
<message><source>Open a video or image</source>
<translation>Ouvrir une vidéo ou une image</translation></message>
<message><source>Videos and images (*)</source>
<translation>Vidéos et images (*)</translation></message>
<message><source>&amp;No merging</source>
<translation>Ne rien fusio&amp;nner</translation></message>
<message><source>&amp;Whole image</source>
<translation>Image &amp;entière</translation></message>
<message><source>&amp;Clear the list of alerts</source>
<translation>&amp;Vider la liste des alertes</translation></message>
<message><source>&amp;Next merge stage</source>
<translation>Étape de fusion &amp;suivante</translation></message>
<message><source>&amp;Previous merge stage</source>
<translation>Étape de fusion &amp;précédente</translation></message>
<message><source>&amp;Reuse over time</source>
<translation>&amp;Réemploi dans le temps</translation></message>
<message><source>&amp;Next frame of a video</source>
<translation>Image &amp;suivante de la vidéo</translation></message>
<message><source>Pre&amp;vious frame of a video</source>
<translation>Image pré&amp;cédente de la vidéo</translation></message>
<message><source>Recordin&amp;gs…</source>
<translation>Enre&amp;gistrements…</translation></message>
<message><source>&amp;Recent models</source>
<translation>Modèles &amp;récents</translation></message>
<message><source>none yet</source>
<translation>aucun</translation></message>
<message><source>A&amp;bout the model…</source>
<translation>À propos du &amp;modèle…</translation></message>
<message><source>&amp;Fade unsure classes</source>
<translation>&amp;Estomper les classes incertaines</translation></message>
<message><source>&amp;Keyboard shortcuts</source>
<translation>Raccourcis &amp;clavier</translation></message>
<message><source>E&amp;vents…</source>
<translation>É&amp;vénements…</translation></message>
<message><source>By &amp;hour and date</source>
<translation>Par &amp;heure et date</translation></message>
<message><source>&amp;Name this source…</source>
<translation>&amp;Nommer cette source…</translation></message>
<message><source>%1 and %2 more</source>
<translation>%1 et %2 de plus</translation></message>
<message><source>&amp;Profiles…</source>
<translation>&amp;Profils…</translation></message>
<message><source>&amp;Change regions and masks</source>
<translation>&amp;Modifier régions et masques</translation></message>
<message><source>Follow &amp;objects</source>
<translation>Suivre les &amp;objets</translation></message>
<message><source>&amp;Find the best speed</source>
<translation>Tr&amp;ouver la meilleure vitesse</translation></message>
</context>
<context>
<name>mpm::gui::AlertCenter</name>
<message><source>the source is down</source>
<translation>la source est en panne</translation></message>
<message><source>tokens</source>
<translation>jetons</translation></message>
<message><source>luminance</source>
<translation>luminance</translation></message>
<message><source> in %1</source>
<translation> dans %1</translation></message>
<message><source>%1%2 above %3: %4</source>
<translation>%1%2 au-dessus de %3 : %4</translation></message>
<message><source>%1%2 below %3: %4</source>
<translation>%1%2 au-dessous de %3 : %4</translation></message>
<message><source>alert &apos;%1&apos;: the command &apos;%2&apos; cannot be started: %3</source>
<translation>alerte « %1 » : la commande « %2 » ne peut être lancée : %3</translation></message>
<message><source>%1 s</source>
<translation>%1 s</translation></message>
<message><source>objects</source>
<translation>objets</translation></message>
<message><source>%1%2 for more than %3: %4</source>
<translation>%1%2 depuis plus de %3 : %4</translation></message>
<message><source>%1%2 for less than %3: %4</source>
<translation>%1%2 depuis moins de %3 : %4</translation></message>
<message><source>%1%2 left after more than %3: %4</source>
<translation>%1%2 parti après plus de %3 : %4</translation></message>
<message><source>%1%2 left after less than %3: %4</source>
<translation>%1%2 parti après moins de %3 : %4</translation></message>
</context>
<context>
<name>mpm::gui::AlertModel</name>
<message><source>%1, %2: %3 (%4)</source>
<translation>%1, %2 : %3 (%4)</translation></message>
<message><source>Time</source>
<translation>Heure</translation></message>
<message><source>Alert</source>
<translation>Alerte</translation></message>
</context>
<context>
<name>mpm::gui::AlertPage</name>
<message><source>No alert yet. Add creates an alert, which is active at once.</source>
<translation>Pas encore d&apos;alerte. Ajouter en crée une, qui compte aussitôt.</translation></message>
<message><source>Alerts</source>
<translation>Alertes</translation></message>
<message><source>&amp;Add</source>
<translation>&amp;Ajouter</translation></message>
<message><source>&amp;Remove</source>
<translation>&amp;Supprimer</translation></message>
<message><source> s</source>
<translation> s</translation></message>
<message><source>Name</source>
<translation>Nom</translation></message>
<message><source>When</source>
<translation>Quand</translation></message>
<message><source>tokens kept</source>
<translation>jetons gardés</translation></message>
<message><source>share of a class</source>
<translation>part d&apos;une classe</translation></message>
<message><source>luminance</source>
<translation>luminance</translation></message>
<message><source>the source is down</source>
<translation>la source est en panne</translation></message>
<message><source>Class</source>
<translation>Classe</translation></message>
<message><source>In</source>
<translation>Dans</translation></message>
<message><source>is</source>
<translation>est</translation></message>
<message><source>above</source>
<translation>au-dessus de</translation></message>
<message><source>below</source>
<translation>au-dessous de</translation></message>
<message><source>Threshold</source>
<translation>Seuil</translation></message>
<message><source>For at least</source>
<translation>Pendant au moins</translation></message>
<message><source>Not again for</source>
<translation>Pas à nouveau avant</translation></message>
<message><source>Notify the desktop</source>
<translation>Prévenir le bureau</translation></message>
<message><source>Record a video around it</source>
<translation>Enregistrer une vidéo autour</translation></message>
<message><source>Run</source>
<translation>Exécuter</translation></message>
<message><source>program and arguments</source>
<translation>programme et arguments</translation></message>
<message><source>Runs without a shell; MPM_ALERT, MPM_SOURCE, MPM_VALUE and MPM_TEXT are set.</source>
<translation>Lancé sans interpréteur ; MPM_ALERT, MPM_SOURCE, MPM_VALUE et MPM_TEXT sont définis.</translation></message>
<message><source>Alert %1</source>
<translation>Alerte %1</translation></message>
<message><source>the whole image</source>
<translation>toute l&apos;image</translation></message>
<message><source>Source</source>
<translation>Source</translation></message>
<message><source>every source</source>
<translation>toutes les sources</translation></message>
<message><source>Hours</source>
<translation>Heures</translation></message>
<message><source>From hour</source>
<translation>De l’heure</translation></message>
<message><source>To hour</source>
<translation>À l’heure</translation></message>
<message><source> h</source>
<translation> h</translation></message>
<message><source>to</source>
<translation>à</translation></message>
<message><source> %</source>
<translation> %</translation></message>
<message><source>now %1</source>
<translation>actuel : %1</translation></message>
<message><source>now %1 %</source>
<translation>actuel : %1 %</translation></message>
<message><source>would have fired once in the last day</source>
<translation>se serait déclenchée une fois depuis un jour</translation></message>
<message><source>would have fired %1 times in the last day</source>
<translation>se serait déclenchée %1 fois depuis un jour</translation></message>
<message><source>number of objects</source>
<translation>nombre d&apos;objets</translation></message>
<message><source>time an object stays</source>
<translation>séjour d&apos;un objet</translation></message>
<message><source>an object left after a stay</source>
<translation>un objet est parti, après un séjour</translation></message>
<message><source>now %1 s</source>
<translation>maintenant %1 s</translation></message>
</context>
<context>
<name>mpm::gui::BlockList</name>
<message><source>none</source>
<translation>aucun</translation></message>
<message><source>Blocks before which tokens merge</source>
<translation>Blocs avant lesquels les jetons fusionnent</translation></message>
</context>
<context>
<name>mpm::gui::ConversionBar</name>
<message><source>Converting a model</source>
<translation>Conversion d&apos;un modèle</translation></message>
<message><source>Cancel</source>
<translation>Annuler</translation></message>
<message><source>Cancel the conversion</source>
<translation>Annuler la conversion</translation></message>
<message><source>Converting: %1 s</source>
<translation>Conversion : %1 s</translation></message>
<message><source>Finding the best speed</source>
<translation>Recherche de la meilleure vitesse</translation></message>
<message><source>Cancel the search</source>
<translation>Annuler la recherche</translation></message>
<message><source>Collecting images: %1 s</source>
<translation>Collecte d&apos;images : %1 s</translation></message>
<message><source>Finding the best speed: %1 s</source>
<translation>Recherche de la meilleure vitesse : %1 s</translation></message>
</context>
<context>
<name>mpm::gui::DayNightDialog</name>
<message><source>Day and night</source>
<translation>Jour et nuit</translation></message>
<message><source>By the clock</source>
<translation>Par l&apos;heure</translation></message>
<message><source>By the sun</source>
<translation>Par le soleil</translation></message>
<message><source>By hand</source>
<translation>À la main</translation></message>
<message><source>Tell day from night</source>
<translation>Distinguer le jour de la nuit</translation></message>
<message><source>Night below</source>
<translation>Nuit au-dessous de</translation></message>
<message><source>Day above</source>
<translation>Jour au-dessus de</translation></message>
<message><source> s</source>
<translation> s</translation></message>
<message><source>Held for</source>
<translation>Maintenu pendant</translation></message>
<message><source>Day from</source>
<translation>Jour à partir de</translation></message>
<message><source>Night from</source>
<translation>Nuit à partir de</translation></message>
<message><source>Degrees north</source>
<translation>Degrés nord</translation></message>
<message><source>Degrees east</source>
<translation>Degrés est</translation></message>
<message><source>Night below, degrees</source>
<translation>Nuit sous, degrés</translation></message>
<message><source>Day</source>
<translation>Jour</translation></message>
<message><source>Night</source>
<translation>Nuit</translation></message>
<message><source>It is</source>
<translation>Il fait</translation></message>
<message><source>By the image&apos;s luminance</source>
<translation>Par la luminance de l&apos;image</translation></message>
<message><source>By infrared: colour disappears</source>
<translation>Par l&apos;infrarouge : la couleur disparaît</translation></message>
<message><source>Luminance</source>
<translation>Luminance</translation></message>
<message><source>Saturation</source>
<translation>Saturation</translation></message>
</context>
<context>
<name>mpm::gui::EventModel</name>
<message><source>Day begins</source>
<translation>Le jour commence</translation></message>
<message><source>Night begins</source>
<translation>La nuit commence</translation></message>
<message><source>State of the source</source>
<translation>État de la source</translation></message>
<message><source>Schedule</source>
<translation>Programme</translation></message>
<message><source>Model</source>
<translation>Modèle</translation></message>
<message><source>▶ Play</source>
<translation>▶ Lire</translation></message>
<message><source>Time</source>
<translation>Heure</translation></message>
<message><source>Source</source>
<translation>Source</translation></message>
<message><source>Rule</source>
<translation>Règle</translation></message>
<message><source>Value</source>
<translation>Valeur</translation></message>
</context>
<context>
<name>mpm::gui::EventsDialog</name>
<message><source>Events</source>
<translation>Événements</translation></message>
<message><source>Events, newest first</source>
<translation>Événements, le plus récent en premier</translation></message>
<message><source>No event yet. Alerts, day and night, and changes of a source appear here.</source>
<translation>Aucun événement. Les alertes, le jour et la nuit et les changements d’une source apparaissent ici.</translation></message>
<message><source>Every source</source>
<translation>Toutes les sources</translation></message>
<message><source>Source</source>
<translation>Source</translation></message>
<message><source>Every rule</source>
<translation>Toutes les règles</translation></message>
<message><source>Rule</source>
<translation>Règle</translation></message>
<message><source>Every day</source>
<translation>Tous les jours</translation></message>
<message><source>Day</source>
<translation>Jour</translation></message>
<message><source>Show the image</source>
<translation>Afficher l’image</translation></message>
<message><source>Play</source>
<translation>Lire</translation></message>
<message><source>Delete</source>
<translation>Supprimer</translation></message>
<message><source>Deletes the selected events (Del); images and recordings stay</source>
<translation>Supprime les événements choisis (Suppr) ; images et enregistrements restent</translation></message>
<message><source>Events: %1</source>
<translation>Événements : %1</translation></message>
</context>
<context>
<name>mpm::gui::Exports</name>
<message><source>Measurements only: there is no image to export</source>
<translation>Mesures seules : il n&apos;y a pas d&apos;image à exporter</translation></message>
<message><source>Image written to %1</source>
<translation>Image écrite dans %1</translation></message>
<message><source>%1: the file cannot be written</source>
<translation>%1 : le fichier ne peut être écrit</translation></message>
<message><source>Timeline written to %1</source>
<translation>Chronologie écrite dans %1</translation></message>
<message><source>no model</source>
<translation>aucun modèle</translation></message>
<message><source>%1, %2, %3</source>
<translation>%1, %2, %3</translation></message>
<message><source>Tokens over time</source>
<translation>Jetons au fil du temps</translation></message>
<message><source>%1 to %2</source>
<translation>du %1 au %2</translation></message>
</context>
<context>
<name>mpm::gui::FrontSource</name>
<message><source>Skipped: %1</source>
<translation>Ignorée : %1</translation></message>
<message><source>A part of the monitor stopped; start it again: %1</source>
<translation>Une partie du moniteur s&apos;est arrêtée ; relancez-le : %1</translation></message>
<message><source>Measurements are not kept: %1</source>
<translation>Les mesures ne sont pas conservées : %1</translation></message>
<message><source>Measurements are kept again</source>
<translation>Les mesures sont de nouveau conservées</translation></message>
<message><source>%1 measurements written to %2</source>
<translation>%1 mesures écrites dans %2</translation></message>
<message><source>%1: %2</source>
<translation>%1 : %2</translation></message>
<message><source>read only: %1</source>
<translation>lecture seule : %1</translation></message>
<message><source>No image is kept of this moment</source>
<translation>Aucune image de ce moment n’est gardée</translation></message>
<message><source>%1: %2 (F11 ends)</source>
<translation>%1 : %2 (F11 pour quitter)</translation></message>
</context>
<context>
<name>mpm::gui::GuideStrip</name>
<message><source>Turn &amp;reuse on</source>
<translation>Activer la &amp;réutilisation</translation></message>
<message><source>&amp;See what merged</source>
<translation>&amp;Voir la fusion</translation></message>
<message><source>Open your &amp;camera…</source>
<translation>Ouvrir votre &amp;caméra…</translation></message>
<message><source>Dismiss</source>
<translation>Fermer</translation></message>
<message><source>Dismiss; this line does not come back</source>
<translation>Fermer ; cette ligne ne revient pas</translation></message>
<message><source>Left: every patch computed. Right: only patches that changed, %1 % of them.</source>
<translation>À gauche : tous les pavés sont calculés. À droite : seulement ceux qui ont changé, %1 %.</translation></message>
<message><source>Every patch is computed. Choose blocks in the schedule to merge similar ones.</source>
<translation>Tous les pavés sont calculés. Choisissez des blocs pour fusionner les pavés semblables.</translation></message>
<message><source>Left: every patch computed. Right: similar patches merged, %1 of %2 tokens kept.</source>
<translation>À gauche : tous les pavés sont calculés. À droite : les pavés semblables sont fusionnés, %1 jetons gardés sur %2.</translation></message>
<message><source> %1 % of the pixels agree, %2 times as fast.</source>
<translation> %1 % des pixels concordent, %2 fois plus vite.</translation></message>
<message><source>Each frame of the built-in street runs twice: every patch computed, and similar ones merged.</source>
<translation>Chaque image de la rue intégrée est calculée deux fois : tous les pavés, et les semblables fusionnés.</translation></message>
<message><source> Reuse computes only patches that changed: %1 %.</source>
<translation> La réutilisation ne calcule que les pavés modifiés : %1 %.</translation></message>
</context>
<context>
<name>mpm::gui::HeaderBar</name>
<message><source>tokens in → kept</source>
<translation>jetons entrés → gardés</translation></message>
<message><source>tokens kept, night to day</source>
<translation>jetons gardés, nuit / jour</translation></message>
<message><source>Built-in street, day and night</source>
<translation>Rue intégrée, jour et nuit</translation></message>
<message><source>%1 → %2  (%3)</source>
<translation>%1 → %2  (%3)</translation></message>
<message><source>%1 ms</source>
<translation>%1 ms</translation></message>
<message><source>%1: trained on the built-in street only</source>
<translation>%1 : entraîné sur la rue intégrée seulement</translation></message>
<message><source>all tokens → merged</source>
<translation>tous les jetons → fusionnés</translation></message>
<message><source>%1, %2 % computed</source>
<translation>%1, %2 % calculés</translation></message>
<message><source>Nothing merges: all tokens run</source>
<translation>Rien ne fusionne : tous les jetons passent</translation></message>
<message><source>%1 → %2 ms (%3)</source>
<translation>%1 → %2 ms (%3)</translation></message>
<message><source>tokens, with reuse</source>
<translation>jetons, avec réemploi</translation></message>
<message><source>all tokens → reuse</source>
<translation>tous les jetons → réemploi</translation></message>
<message><source>tokens computed, night to day</source>
<translation>jetons calculés, nuit / jour</translation></message>
<message><source>tokens, mean age %1 frames</source>
<translation>jetons, âge moyen %1 images</translation></message>
<message><source>%1 ms saved: medians of the last %2 frames that ran both ways</source>
<translation>%1 ms gagnées : médianes des %2 dernières images calculées des deux façons</translation></message>
<message><source>%1 ms lost: medians of the last %2 frames that ran both ways</source>
<translation>%1 ms perdues : médianes des %2 dernières images calculées des deux façons</translation></message>
<message><source>tokens, too many change for reuse</source>
<translation>jetons, trop changent pour le réemploi</translation></message>
<message><source>● Recording: end (R)</source>
<translation>● Enregistrement : arrêter (R)</translation></message>
<message><source>The source in front is recorded to a video</source>
<translation>La source affichée est enregistrée en vidéo</translation></message>
<message><source>as fast as all tokens</source>
<translation>aussi rapide que tous les jetons</translation></message>
<message><source>%1×</source>
<translation>%1×</translation></message>
</context>
<context>
<name>mpm::gui::Headless</name>
<message><source>alert &apos;%1&apos; at %2: %3</source>
<translation>alerte « %1 » à %2 : %3</translation></message>
<message><source>the network stopped: %1</source>
<translation>le réseau s&apos;est arrêté : %1</translation></message>
<message><source>measurements are not kept: %1</source>
<translation>les mesures ne sont pas conservées : %1</translation></message>
<message><source>measurements are kept again</source>
<translation>les mesures sont de nouveau conservées</translation></message>
<message><source>%1 measurements and events were never written</source>
<translation>%1 mesures et événements n&apos;ont jamais été écrits</translation></message>
<message><source>model %1</source>
<translation>modèle %1</translation></message>
<message><source>of random weights: labels mean nothing</source>
<translation>aux poids aléatoires : les classes ne veulent rien dire</translation></message>
<message><source>a part of the monitor stopped: %1</source>
<translation>une partie du moniteur s&apos;est arrêtée : %1</translation></message>
<message><source>skipped: %1</source>
<translation>ignorée : %1</translation></message>
</context>
<context>
<name>mpm::gui::HealthModel</name>
<message><source>connecting</source>
<translation>connexion</translation></message>
<message><source>live</source>
<translation>en direct</translation></message>
<message><source>built-in scene</source>
<translation>scène intégrée</translation></message>
<message><source>playing</source>
<translation>lecture</translation></message>
<message><source>stalled since %1</source>
<translation>figée depuis %1</translation></message>
<message><source>retrying in %1 s</source>
<translation>nouvel essai dans %1 s</translation></message>
<message><source>offline since %1</source>
<translation>hors ligne depuis %1</translation></message>
<message><source>ended</source>
<translation>terminée</translation></message>
<message><source>failed</source>
<translation>échec</translation></message>
<message><source>Source</source>
<translation>Source</translation></message>
<message><source>Capture</source>
<translation>Capture</translation></message>
<message><source>Queue</source>
<translation>Attente</translation></message>
<message><source>Prepare</source>
<translation>Préparation</translation></message>
<message><source>Network</source>
<translation>Réseau</translation></message>
<message><source>of it, merging</source>
<translation>dont fusion</translation></message>
<message><source>Labels</source>
<translation>Classes</translation></message>
<message><source>Draw</source>
<translation>Dessin</translation></message>
<message><source>Display</source>
<translation>Affichage</translation></message>
<message><source>Rate</source>
<translation>Cadence</translation></message>
<message><source>Dropped</source>
<translation>Perdues</translation></message>
<message><source>Device</source>
<translation>Matériel</translation></message>
<message><source>Processor</source>
<translation>Processeur</translation></message>
<message><source>Model</source>
<translation>Modèle</translation></message>
<message><source>Store</source>
<translation>Mesures</translation></message>
<message><source>%1 ms</source>
<translation>%1 ms</translation></message>
<message><source>%1 of %2</source>
<translation>%1 sur %2</translation></message>
<message><source> (%1 network, %2 capture)</source>
<translation> (%1 réseau, %2 capture)</translation></message>
<message><source> (network busy)</source>
<translation> (réseau occupé)</translation></message>
<message><source> (capture busy)</source>
<translation> (capture occupée)</translation></message>
<message><source>, %1 unreadable</source>
<translation>, %1 illisibles</translation></message>
<message><source>%1 s</source>
<translation>%1 s</translation></message>
<message><source>%1 °C</source>
<translation>%1 °C</translation></message>
<message><source>, throttled</source>
<translation>, bridé</translation></message>
<message><source>, too little voltage</source>
<translation>, tension trop faible</translation></message>
<message><source>%1 of %2 a second</source>
<translation>%1 sur %2 par seconde</translation></message>
<message><source>Image age</source>
<translation>Âge de l&apos;image</translation></message>
<message><source>no image yet</source>
<translation>pas encore d&apos;image</translation></message>
<message><source>not reported by the system</source>
<translation>le système ne le dit pas</translation></message>
<message><source>playing, pass %1</source>
<translation>lecture, passage %1</translation></message>
</context>
<context>
<name>mpm::gui::HealthView</name>
<message><source>Health of the monitor</source>
<translation>Santé du moniteur</translation></message>
</context>
<context>
<name>mpm::gui::HourView</name>
<message><source>The first hour appears here with the first measurement</source>
<translation>La première heure apparaît ici avec la première mesure</translation></message>
<message><source>, usually %1</source>
<translation>, d&apos;habitude %1</translation></message>
<message><source>Means by hour of the day and date</source>
<translation>Moyennes par heure du jour et date</translation></message>
<message><source>%1, mean of the hour:  %2</source>
<translation>%1, moyenne de l’heure :  %2</translation></message>
<message><source>far from the usual value of this hour</source>
<translation>loin de la valeur habituelle de cette heure</translation></message>
<message><source>%1, %2:00: %3 %4, %5 readings</source>
<translation>%1, %2 h : %3 %4, %5 mesures</translation></message>
</context>
<context>
<name>mpm::gui::ImageView</name>
<message><source>%1: %2 of %3 tokens</source>
<translation>%1 : %2 jetons sur %3</translation></message>
<message><source>Click the corners; Escape cancels</source>
<translation>Cliquez les coins ; Échap annule</translation></message>
<message><source>%1: corner %2 of %3</source>
<translation>%1 : coin %2 sur %3</translation></message>
<message><source>Enter, a double click or the first corner ends</source>
<translation>Entrée, un double clic ou le premier coin termine</translation></message>
<message><source>Backspace removes a corner, Escape cancels</source>
<translation>Retour arrière ôte un coin, Échap annule</translation></message>
<message><source>Enter keeps the shapes, Escape cancels</source>
<translation>Entrée garde les formes, Échap annule</translation></message>
<message><source>%1; Tab: the next corner</source>
<translation>%1 ; Tab : le coin suivant</translation></message>
<message><source>Drag it, or move it by the arrows</source>
<translation>Le glisser, ou le déplacer avec les flèches</translation></message>
<message><source>A click on an edge or Ins adds a corner, Del removes it</source>
<translation>Un clic sur un bord ou Inser ajoute un coin, Suppr l&apos;ôte</translation></message>
</context>
<context>
<name>mpm::gui::Lane</name>
<message><source>%1 %</source>
<translation>%1 %</translation></message>
<message><source>%1 ms</source>
<translation>%1 ms</translation></message>
<message><source>Tokens</source>
<translation>Jetons</translation></message>
<message><source>Age of the tokens, in frames</source>
<translation>Âge des jetons, en images</translation></message>
<message><source>Luminance</source>
<translation>Luminance</translation></message>
<message><source>Latency</source>
<translation>Latence</translation></message>
<message><source>Time saved</source>
<translation>Temps gagné</translation></message>
</context>
<context>
<name>mpm::gui::LaneControl</name>
<message><source>&amp;Lanes</source>
<translation>&amp;Bandes</translation></message>
<message><source>The timeline has %1 lanes of classes and regions: remove one first</source>
<translation>La chronologie a %1 bandes de classes et de régions : enlevez-en une d’abord</translation></message>
<message><source>%1: %2</source>
<translation>%1 : %2</translation></message>
<message><source>%1: tokens</source>
<translation>%1 : jetons</translation></message>
<message><source>Share of a class</source>
<translation>Part d’une classe</translation></message>
<message><source>Tokens kept</source>
<translation>Jetons gardés</translation></message>
<message><source>%1, number</source>
<translation>%1, nombre</translation></message>
<message><source>Number of objects</source>
<translation>Nombre d&apos;objets</translation></message>
</context>
<context>
<name>mpm::gui::LegendModel</name>
<message><source>%1 %</source>
<translation>%1 %</translation></message>
<message><source>Class</source>
<translation>Classe</translation></message>
<message><source>Share</source>
<translation>Part</translation></message>
<message><source>class %1</source>
<translation>classe %1</translation></message>
<message><source>Double-click to change the colour, press F2 to rename</source>
<translation>Double-clic : une autre couleur. F2 : un autre nom.</translation></message>
<message><source>Click to add a lane to the timeline, or to remove it</source>
<translation>Clic : une bande dans la chronologie, ou plus de bande</translation></message>
</context>
<context>
<name>mpm::gui::LegendView</name>
<message><source>Colour of %1</source>
<translation>Couleur de %1</translation></message>
<message><source>Classes and their share of the image</source>
<translation>Les classes et leur part de l&apos;image</translation></message>
</context>
<context>
<name>mpm::gui::LevelBar</name>
<message><source>waiting for a frame</source>
<translation>en attente d&apos;une image</translation></message>
<message><source>night</source>
<translation>nuit</translation></message>
<message><source>day</source>
<translation>jour</translation></message>
<message><source>between</source>
<translation>entre les deux</translation></message>
<message><source>now %1: %2</source>
<translation>maintenant %1 : %2</translation></message>
</context>
<context>
<name>mpm::gui::LiveView</name>
<message><source>Image</source>
<translation>Image</translation></message>
<message><source>Waiting for the first image</source>
<translation>En attente de la première image</translation></message>
<message><source>frame %1</source>
<translation>image %1</translation></message>
<message><source>Now</source>
<translation>Maintenant</translation></message>
<message><source>Back to the present (Escape); Left and Right step through the past</source>
<translation>Retour au présent (Échap) ; Gauche et Droite parcourent le passé</translation></message>
<message><source>PAST: %1</source>
<translation>PASSÉ : %1</translation></message>
<message><source>Done</source>
<translation>Terminé</translation></message>
</context>
<context>
<name>mpm::gui::MainWindow</name>
<message><source>MPM Monitor (read only)</source>
<translation>MPM Monitor (lecture seule)</translation></message>
<message><source>%1 – %2</source>
<translation>%1 – %2</translation></message>
</context>
<context>
<name>mpm::gui::MergeView</name>
<message><source>Merge map</source>
<translation>Fusion</translation></message>
<message><source>nothing merges</source>
<translation>rien ne fusionne</translation></message>
<message><source>%1 of %2</source>
<translation>%1 sur %2</translation></message>
<message><source>class %1</source>
<translation>classe %1</translation></message>
<message><source> %1 %</source>
<translation> %1 %</translation></message>
<message><source>The merged patches appear here</source>
<translation>Les carreaux fusionnés apparaissent ici</translation></message>
<message><source>masked</source>
<translation>masqué</translation></message>
<message><source>single patch, token %1</source>
<translation>case isolée, jeton %1</translation></message>
<message><source>%1 patches in token %2</source>
<translation>%1 cases dans le jeton %2</translation></message>
</context>
<context>
<name>mpm::gui::ModelControl</name>
<message><source>loading %1</source>
<translation>chargement de %1</translation></message>
<message><source>Loading the model</source>
<translation>Chargement du modèle</translation></message>
<message><source>The network stopped</source>
<translation>Le réseau s&apos;est arrêté</translation></message>
<message><source>stopped: %1</source>
<translation>arrêté : %1</translation></message>
<message><source>Converted to %1</source>
<translation>Converti en %1</translation></message>
<message><source>%1 cannot be converted: %2</source>
<translation>%1 ne peut être converti : %2</translation></message>
<message><source>%1 is not converted</source>
<translation>%1 n&apos;est pas converti</translation></message>
<message><source>Converting stopped: %1</source>
<translation>La conversion s&apos;est arrêtée : %1</translation></message>
<message><source>%1×%2, %3 blocks</source>
<translation>%1×%2, %3 blocs</translation></message>
<message><source>Random weights: labels mean nothing (%1)</source>
<translation>Poids aléatoires : les classes ne veulent rien dire (%1)</translation></message>
<message><source>%1 (%2)</source>
<translation>%1 (%2)</translation></message>
<message><source>Model rejected, %1 stays in use: %2</source>
<translation>Modèle refusé, %1 reste en service : %2</translation></message>
<message><source>This model cannot be used</source>
<translation>Ce modèle ne peut être utilisé</translation></message>
<message><source>rejected: %1</source>
<translation>refusé : %1</translation></message>
<message><source>Convert this model?</source>
<translation>Convertir ce modèle ?</translation></message>
<message><source>%1 is rejected</source>
<translation>%1 est refusé</translation></message>
<message><source>Convert</source>
<translation>Convertir</translation></message>
<message><source>Converting %1 beside the model in use</source>
<translation>Conversion de %1 à côté du modèle en service</translation></message>
<message><source>No model</source>
<translation>Aucun modèle</translation></message>
<message><source>%1 cannot be used: %2</source>
<translation>%1 est inutilisable : %2</translation></message>
<message><source>%1 is an export that is not converted yet.</source>
<translation>%1 est un export qui n’est pas encore converti.</translation></message>
<message><source>It can be converted now, as by mpm convert. The present model stays in use meanwhile.</source>
<translation>Il peut être converti maintenant, comme par mpm convert. Le modèle actuel reste en service.</translation></message>
<message><source>The best speed is being found: wait, or cancel it</source>
<translation>La meilleure vitesse est recherchée : attendez, ou annulez</translation></message>
</context>
<context>
<name>mpm::gui::ModelConverter</name>
<message><source>it needs more memory than the %1 allowed here; if the file is yours, use mpm convert with --max-memory</source>
<translation>il demande plus de mémoire que les %1 permis ici ; si le fichier est à vous, utilisez mpm convert avec --max-memory</translation></message>
<message><source>it takes longer than the %1 s allowed here; if the file is yours, use mpm convert with --max-seconds</source>
<translation>il prend plus de temps que les %1 s permises ici ; si le fichier est à vous, utilisez mpm convert avec --max-seconds</translation></message>
<message><source>it would become larger than the %1 allowed here</source>
<translation>il deviendrait plus grand que les %1 permis ici</translation></message>
</context>
<context>
<name>mpm::gui::ModelDialog</name>
<message><source>About the model</source>
<translation>À propos du modèle</translation></message>
<message><source>Random weights: labels mean nothing</source>
<translation>Poids aléatoires : les étiquettes ne veulent rien dire</translation></message>
<message><source>Report of the model</source>
<translation>Rapport du modèle</translation></message>
<message><source>Reading the file…</source>
<translation>Lecture du fichier…</translation></message>
</context>
<context>
<name>mpm::gui::ModelTuner</name>
<message><source>%1 cannot be started</source>
<translation>%1 ne peut être lancé</translation></message>
<message><source>it takes longer than %1 s</source>
<translation>cela prend plus de %1 s</translation></message>
<message><source>mpm tune crashed (signal %1)</source>
<translation>mpm tune s&apos;est arrêté (signal %1)</translation></message>
<message><source>mpm tune ended with status %1</source>
<translation>mpm tune s&apos;est terminé avec le code %1</translation></message>
</context>
<context>
<name>mpm::gui::MqttPublisher</name>
<message><source>Last alert</source>
<translation>Dernière alerte</translation></message>
<message><source>Night</source>
<translation>Nuit</translation></message>
<message><source>Source</source>
<translation>Source</translation></message>
<message><source>Share of %1</source>
<translation>Part de %1</translation></message>
<message><source>%1 in %2</source>
<translation>%1 dans %2</translation></message>
<message><source>Number of %1</source>
<translation>Nombre de %1</translation></message>
</context>
<context>
<name>mpm::gui::NightView</name>
<message><source>As it is</source>
<translation>Telle quelle</translation></message>
<message><source>Night, simulated</source>
<translation>Nuit simulée</translation></message>
<message><source>The frame as the camera sees it appears here</source>
<translation>L&apos;image telle que la caméra la voit apparaît ici</translation></message>
<message><source>The same frame at night appears here</source>
<translation>La même image de nuit apparaît ici</translation></message>
<message><source>Light</source>
<translation>Lumière</translation></message>
<message><source>Photons</source>
<translation>Photons</translation></message>
<message><source>Noise</source>
<translation>Bruit</translation></message>
<message><source>Share of daylight that is left</source>
<translation>Ce qui reste de la lumière du jour</translation></message>
<message><source>Photons counted where a pixel is white: fewer are noisier (Poisson)</source>
<translation>Photons comptés où un pixel est blanc : moins il y en a, plus il y a de bruit (Poisson)</translation></message>
<message><source>Thermal noise: its standard deviation on values of 0 to 1 (Gaussian)</source>
<translation>Bruit thermique : son écart type sur des valeurs de 0 à 1 (gaussien)</translation></message>
<message><source>Merge maps</source>
<translation>Cartes de fusion</translation></message>
<message><source>Segmentation</source>
<translation>Segmentation</translation></message>
<message><source>Reset</source>
<translation>Réinitialiser</translation></message>
<message><source>%1 of %2 tokens</source>
<translation>%1 jetons sur %2</translation></message>
<message><source>By day %1 tokens merge away, by night %2: %3 % fewer</source>
<translation>De jour %1 jetons disparaissent par fusion, de nuit %2 : %3 % de moins</translation></message>
<message><source>By day %1 tokens merge away, by night %2: %3 % more</source>
<translation>De jour %1 jetons disparaissent par fusion, de nuit %2 : %3 % de plus</translation></message>
<message><source>Images</source>
<translation>Images</translation></message>
<message><source>Content of day and night</source>
<translation>Contenu du jour et de la nuit</translation></message>
</context>
<context>
<name>mpm::gui::ObjectModel</name>
<message><source>hidden</source>
<translation>caché</translation></message>
<message><source>arrived</source>
<translation>arrivé</translation></message>
<message><source>stays</source>
<translation>reste</translation></message>
<message><source>moves</source>
<translation>bouge</translation></message>
<message><source>%1 since %2: %3</source>
<translation>%1 depuis %2 : %3</translation></message>
<message><source>Object</source>
<translation>Objet</translation></message>
<message><source>Since</source>
<translation>Depuis</translation></message>
<message><source>Where</source>
<translation>Où</translation></message>
</context>
<context>
<name>mpm::gui::Options</name>
<message><source>--screenshot &apos;&apos;: expected a file</source>
<translation>--screenshot &apos;&apos; : un fichier est attendu</translation></message>
<message><source>--after needs --screenshot or --headless</source>
<translation>--after va avec --screenshot ou --headless</translation></message>
<message><source>demo: frames in which a whole day passes (default: four minutes)</source>
<translation>demo : images en lesquelles passe une journée entière (par défaut : quatre minutes)</translation></message>
<message><source>--day-cycle &apos;%1&apos;: expected frames, 2 or more</source>
<translation>--day-cycle « %1 » : un nombre d&apos;images, 2 ou plus, est attendu</translation></message>
<message><source>camera index, video, image, folder, URL, gst: and a pipeline, or demo</source>
<translation>numéro de caméra, vidéo, image, dossier, URL, gst: et un pipeline, ou demo</translation></message>
<message><source>ONNX model converted by mpm convert, or default</source>
<translation>modèle ONNX converti par mpm convert, ou default</translation></message>
<message><source>settings and measurements kept under this name</source>
<translation>réglages et mesures gardés sous ce nom</translation></message>
<message><source>seconds to wait before that (default 3), or to run without a window</source>
<translation>secondes à attendre avant (3 par défaut), ou à tourner sans fenêtre</translation></message>
<message><source>system, light or dark</source>
<translation>system, light ou dark</translation></message>
<message><source>size of the window</source>
<translation>taille de la fenêtre</translation></message>
<message><source>this text</source>
<translation>ce texte</translation></message>
<message><source>the version</source>
<translation>la version</translation></message>
<message><source>--profile &apos;%1&apos;: letters, digits, blanks, dots and dashes only</source>
<translation>--profile « %1 » : lettres, chiffres, espaces, points et tirets seulement</translation></message>
<message><source>--screenshot needs the window that --headless leaves out</source>
<translation>--screenshot a besoin de la fenêtre que --headless supprime</translation></message>
<message><source>--theme &apos;%1&apos;: expected system, light or dark</source>
<translation>--theme « %1 » : attendu system, light ou dark</translation></message>
<message><source>--after &apos;%1&apos;: expected seconds, 0 or more</source>
<translation>--after « %1 » : attendu des secondes, 0 ou plus</translation></message>
<message><source>--window &apos;%1&apos;: expected WIDTHxHEIGHT</source>
<translation>--window « %1 » : attendu LARGEURxHAUTEUR</translation></message>
<message><source> See --help.</source>
<translation> Voir --help.</translation></message>
<message><source>unexpected &apos;%1&apos;; a source is named with --source. See --help.</source>
<translation>« %1 » inattendu ; une source se nomme par --source. Voir --help.</translation></message>
<message><source>write an image of the window and exit</source>
<translation>écrire une image de la fenêtre et quitter</translation></message>
<message><source>no window and no display: measure, store, alert and publish as set in the profile</source>
<translation>sans fenêtre ni écran : mesurer, conserver, alerter et publier selon le profil</translation></message>
<message><source>one of: %1</source>
<translation>au choix : %1</translation></message>
<message><source>--view &apos;%1&apos;: expected one of: %2</source>
<translation>--view « %1 » : attendu, au choix : %2</translation></message>
<message><source>Watches a fixed scene and shows the effect of token merging, day and night.</source>
<translation>Observe une scène fixe et montre l&apos;effet de la fusion de jetons, de jour comme de nuit.</translation></message>
<message><source>simulated night: luminance, photons, deviation</source>
<translation>nuit simulée : luminance, photons, écart type</translation></message>
<message><source>--night &apos;%1&apos;: expected L,P,S, as 0.35,250,0.01; L and S of 0 to 1, P above 0</source>
<translation>--night « %1 » : attendu L,P,S, comme 0.35,250,0.01 ; L et S de 0 à 1, P supérieur à 0</translation></message>
</context>
<context>
<name>mpm::gui::OverlayView</name>
<message><source>Overlay</source>
<translation>Calque</translation></message>
<message><source>The classes found by the network appear here</source>
<translation>Les classes trouvées par le réseau apparaissent ici</translation></message>
<message><source>, </source>
<translation>, </translation></message>
<message><source>frame %1</source>
<translation>image %1</translation></message>
</context>
<context>
<name>mpm::gui::PlaybackBar</name>
<message><source>Pause or play (P)</source>
<translation>Pause ou lecture (P)</translation></message>
<message><source>Repeat</source>
<translation>En boucle</translation></message>
<message><source>One frame back (comma)</source>
<translation>Une image en arrière (virgule)</translation></message>
<message><source>One frame on (full stop)</source>
<translation>Une image en avant (point)</translation></message>
<message><source>Position in the video</source>
<translation>Position dans la vidéo</translation></message>
<message><source>Speed</source>
<translation>Vitesse</translation></message>
<message><source>%1 / %2</source>
<translation>%1 / %2</translation></message>
<message><source>pass %1: %2 ± %3 tokens computed, %4 frames</source>
<translation>passage %1 : %2 ± %3 jetons calculés, %4 images</translation></message>
<message><source>pass %1: %2 ± %3 tokens kept, %4 frames</source>
<translation>passage %1 : %2 ± %3 jetons gardés, %4 images</translation></message>
</context>
<context>
<name>mpm::gui::Player</name>
<message><source>Recording: %1</source>
<translation>Enregistrement : %1</translation></message>
<message><source>Waiting for the first image</source>
<translation>En attente de la première image</translation></message>
<message><source>This recording cannot be played</source>
<translation>Cet enregistrement ne peut pas être lu</translation></message>
</context>
<context>
<name>mpm::gui::Profiles</name>
<message><source>Profile &apos;%1&apos; is in use by another program</source>
<translation>Le profil « %1 » est utilisé par un autre programme</translation></message>
<message><source>Profile &apos;%1&apos;: some files cannot be deleted</source>
<translation>Profil « %1 » : des fichiers ne peuvent être supprimés</translation></message>
</context>
<context>
<name>mpm::gui::ProfilesDialog</name>
<message><source>Profiles</source>
<translation>Profils</translation></message>
<message><source>Each profile has sources, a model, rules and measurements of its own.</source>
<translation>Chaque profil a ses propres sources, modèle, règles et mesures.</translation></message>
<message><source>&amp;Switch</source>
<translation>&amp;Changer</translation></message>
<message><source>&amp;New…</source>
<translation>&amp;Nouveau…</translation></message>
<message><source>&amp;Delete…</source>
<translation>&amp;Supprimer…</translation></message>
<message><source>%1 (this window)</source>
<translation>%1 (cette fenêtre)</translation></message>
<message><source>There is a profile of this name</source>
<translation>Un profil porte déjà ce nom</translation></message>
<message><source>Letters, digits, blanks, dots and dashes only</source>
<translation>Lettres, chiffres, espaces, points et tirets seulement</translation></message>
<message><source>Name of the new profile</source>
<translation>Nom du nouveau profil</translation></message>
<message><source>such as yard</source>
<translation>par exemple cour</translation></message>
<message><source>Delete a profile</source>
<translation>Supprimer un profil</translation></message>
<message><source>Delete</source>
<translation>Supprimer</translation></message>
<message><source>Delete the profile &apos;%1&apos;?</source>
<translation>Supprimer le profil « %1 » ?</translation></message>
<message><source>Its settings, rules, measurements and small images are deleted. Recordings stay, and passwords in the keychain.</source>
<translation>Ses réglages, règles, mesures et petites images sont supprimés. Les enregistrements restent, et les mots de passe dans le trousseau.</translation></message>
</context>
<context>
<name>mpm::gui::PublishPage</name>
<message><source>MQTT, with discovery for Home Assistant</source>
<translation>MQTT, avec découverte par Home Assistant</translation></message>
<message><source>Broker</source>
<translation>Serveur</translation></message>
<message><source>Port</source>
<translation>Port</translation></message>
<message><source>Encrypted (TLS)</source>
<translation>Chiffré (TLS)</translation></message>
<message><source>User</source>
<translation>Utilisateur</translation></message>
<message><source>Password</source>
<translation>Mot de passe</translation></message>
<message><source>kept in the keychain; leave empty to change nothing</source>
<translation>gardé dans le trousseau ; laisser vide pour ne rien changer</translation></message>
<message><source>Topics begin with</source>
<translation>Les sujets commencent par</translation></message>
<message><source>Discovery prefix</source>
<translation>Préfixe de découverte</translation></message>
<message><source>empty: not announced</source>
<translation>vide : pas annoncé</translation></message>
<message><source>Address</source>
<translation>Adresse</translation></message>
<message><source>127.0.0.1: this machine alone; 0.0.0.0: every machine that reaches this one</source>
<translation>127.0.0.1 : cette machine seule ; 0.0.0.0 : toute machine qui atteint celle-ci</translation></message>
<message><source>Metrics for Prometheus</source>
<translation>Mesures pour Prometheus</translation></message>
<message><source>Test</source>
<translation>Essayer</translation></message>
<message><source>Connects again, and shows the answer of the broker</source>
<translation>Se reconnecte et montre la réponse du serveur</translation></message>
</context>
<context>
<name>mpm::gui::Questions</name>
<message><source>Seconds between two analysed frames; 0: every frame</source>
<translation>Secondes entre deux images analysées ; 0 : chaque image</translation></message>
<message><source>About MPM Monitor</source>
<translation>À propos du moniteur MPM</translation></message>
<message><source>&lt;h3&gt;MPM Monitor %1&lt;/h3&gt;&lt;p&gt;Watches a fixed scene and shows the effect of Mutual Pair Merging on a vision transformer, by day and by night.&lt;/p&gt;&lt;p&gt;Apache License 2.0. Uses Qt %2 (LGPL 3), OpenCV (Apache 2.0), SQLite (public domain), mosquitto (EPL 2.0), prometheus-cpp (MIT) and QtKeychain (BSD).&lt;/p&gt;</source>
<translation>&lt;h3&gt;Moniteur MPM %1&lt;/h3&gt;&lt;p&gt;Observe une scène fixe et montre l&apos;effet de Mutual Pair Merging sur un vision transformer, de jour comme de nuit.&lt;/p&gt;&lt;p&gt;Licence Apache 2.0. Utilise Qt %2 (LGPL 3), OpenCV (Apache 2.0), SQLite (domaine public), mosquitto (EPL 2.0), prometheus-cpp (MIT) et QtKeychain (BSD).&lt;/p&gt;</translation></message>
</context>
<context>
<name>mpm::gui::ReadingField</name>
<message><source>Luminance</source>
<translation>Luminance</translation></message>
<message><source>Tokens kept</source>
<translation>Jetons gardés</translation></message>
<message><source>Network time</source>
<translation>Temps du réseau</translation></message>
<message><source>Tokens computed</source>
<translation>Jetons calculés</translation></message>
<message><source>Time saved</source>
<translation>Temps gagné</translation></message>
<message><source>Objects</source>
<translation>Objets</translation></message>
</context>
<context>
<name>mpm::gui::Recorder</name>
<message><source>there are no measurements to export</source>
<translation>il n&apos;y a pas de mesures à exporter</translation></message>
<message><source>the file cannot be written</source>
<translation>le fichier ne peut être écrit</translation></message>
<message><source>%1; it was renamed to %2, and measurements continue in a new file</source>
<translation>%1 ; il a été renommé en %2, et les mesures continuent dans un nouveau fichier</translation></message>
</context>
<context>
<name>mpm::gui::RecordingsDialog</name>
<message><source>Recordings</source>
<translation>Enregistrements</translation></message>
<message><source>Recordings, newest first</source>
<translation>Enregistrements, les plus récents d&apos;abord</translation></message>
<message><source>No recording yet. R records the source in front, and alerts can record too.</source>
<translation>Aucun enregistrement. R enregistre la source au premier plan, et les alertes le peuvent aussi.</translation></message>
<message><source>Play</source>
<translation>Lire</translation></message>
<message><source>%1 s</source>
<translation>%1 s</translation></message>
</context>
<context>
<name>mpm::gui::RegionModel</name>
<message><source>%1 of %2</source>
<translation>%1 sur %2</translation></message>
<message><source>Region</source>
<translation>Région</translation></message>
<message><source>Tokens</source>
<translation>Jetons</translation></message>
<message><source>Mostly</source>
<translation>Surtout</translation></message>
<message><source>class %1</source>
<translation>classe %1</translation></message>
<message><source>%1, %2 %</source>
<translation>%1, %2 %</translation></message>
<message><source>Click to add a lane to the timeline, or to remove it</source>
<translation>Clic : une bande dans la chronologie, ou plus de bande</translation></message>
</context>
<context>
<name>mpm::gui::RegionPage</name>
<message><source>Name</source>
<translation>Nom</translation></message>
<message><source>Corners, across and down from 0 to 1</source>
<translation>Coins, en largeur et en hauteur de 0 à 1</translation></message>
<message><source>Regions and masks</source>
<translation>Régions et masques</translation></message>
<message><source>A region has statistics of its own. A mask is blackened before the network, the screen, the store and any video.</source>
<translation>Une région a ses propres statistiques. Un masque est noirci avant le réseau, l&apos;écran, les mesures et toute vidéo.</translation></message>
<message><source>Draw &amp;region</source>
<translation>Dessiner une &amp;région</translation></message>
<message><source>Draw &amp;mask</source>
<translation>Dessiner un &amp;masque</translation></message>
<message><source>Re&amp;move</source>
<translation>&amp;Supprimer</translation></message>
<message><source>(mask)</source>
<translation>(masque)</translation></message>
<message><source>Measurements only: images are measured and discarded</source>
<translation>Mesures seules : les images sont mesurées puis oubliées</translation></message>
<message><source>No region and no mask yet. Draw one on the image.</source>
<translation>Ni zone ni masque. Tracez-en un sur l&apos;image.</translation></message>
<message><source>Small images for the timeline, at most</source>
<translation>Petites images pour la frise, au plus</translation></message>
<message><source> MiB</source>
<translation> Mio</translation></message>
<message><source>Space for small images</source>
<translation>Place des petites images</translation></message>
<message><source> days</source>
<translation> jours</translation></message>
<message><source>Age of small images</source>
<translation>Âge des petites images</translation></message>
<message><source>&amp;Change on the image</source>
<translation>&amp;Modifier sur l&apos;image</translation></message>
<message><source>classes separated by commas, or * for all countable objects</source>
<translation>classes séparées par des virgules, ou * pour toutes les choses</translation></message>
<message><source>Objects to follow</source>
<translation>Objets à suivre</translation></message>
<message><source>Follow objects</source>
<translation>Suivre les objets</translation></message>
</context>
<context>
<name>mpm::gui::ReuseView</name>
<message><source>kept</source>
<translation>gardé</translation></message>
<message><source>changed</source>
<translation>changé</translation></message>
<message><source>refreshed by age</source>
<translation>rafraîchi par âge</translation></message>
<message><source>changed, postponed</source>
<translation>changé, reporté</translation></message>
<message><source>Reuse</source>
<translation>Réemploi</translation></message>
<message><source>Tokens that are computed again appear here while reuse is on (menu Analysis)</source>
<translation>Les jetons recalculés apparaissent ici tant que le réemploi est actif (menu Analyse)</translation></message>
<message><source>suspended: too many tokens change</source>
<translation>suspendu : trop de changements</translation></message>
<message><source>orange: changed, blue: refreshed, magenta: postponed; the oldest is %1 frames old</source>
<translation>orange : changé, bleu : rafraîchi, magenta : reporté ; le plus ancien a %1 images</translation></message>
<message><source>token %1: %2, %3 frames old</source>
<translation>jeton %1 : %2, âge %3 images</translation></message>
<message><source>%1 % computed, %2 ms</source>
<translation>%1 % calculés, %2 ms</translation></message>
</context>
<context>
<name>mpm::gui::ScheduleModel</name>
<message><source>Tokens merge before block %1; %2 go on</source>
<translation>Les jetons fusionnent avant le bloc %1 ; %2 continuent</translation></message>
<message><source>%2 tokens pass block %1</source>
<translation>%2 jetons passent le bloc %1</translation></message>
</context>
<context>
<name>mpm::gui::ScheduleView</name>
<message><source>None</source>
<translation>Aucun</translation></message>
<message><source>All tokens through every block</source>
<translation>Tous les jetons par tous les blocs</translation></message>
<message><source>Merge before block 5: changes less than {2, 5}</source>
<translation>Fusionner avant le bloc 5 : change moins que {2, 5}</translation></message>
<message><source>Merge before blocks 2 and 5: the paper&apos;s schedule</source>
<translation>Fusionner avant les blocs 2 et 5 : ceux de l&apos;article</translation></message>
<message><source>Merge before blocks 2, 5 and 8</source>
<translation>Fusionner avant les blocs 2, 5 et 8</translation></message>
<message><source>No model yet</source>
<translation>Pas encore de modèle</translation></message>
<message><source>Merge before: %1</source>
<translation>Fusion avant : %1</translation></message>
<message><source>Merge before: %1. Tokens entering each block:</source>
<translation>Fusion avant : %1. Jetons entrant dans chaque bloc :</translation></message>
<message><source>%1 tokens enter, %2 go on</source>
<translation>%1 jetons entrent, %2 continuent</translation></message>
<message><source>Reuse is on: no tokens merge. The schedule is used while too many tokens change.</source>
<translation>Réemploi actif : aucun jeton n&apos;est fusionné. Le programme sert tant que trop de choses changent.</translation></message>
<message><source>Too many tokens change for reuse. Merge before: %1. Tokens entering each block:</source>
<translation>Trop de changements pour le réemploi. Fusion avant : %1. Jetons entrant dans chaque bloc :</translation></message>
</context>
<context>
<name>mpm::gui::Services</name>
<message><source>MQTT: the password of %1 is not in the keychain: %2</source>
<translation>MQTT : le mot de passe de %1 n&apos;est pas dans le trousseau : %2</translation></message>
<message><source>MQTT: connected to %1</source>
<translation>MQTT : connecté à %1</translation></message>
<message><source>MQTT: not connected to %1: %2</source>
<translation>MQTT : pas connecté à %1 : %2</translation></message>
<message><source>Metrics: %1</source>
<translation>Métriques : %1</translation></message>
<message><source>%1 s of video written to %2</source>
<translation>%1 s de vidéo écrites dans %2</translation></message>
<message><source>%1: %2</source>
<translation>%1 : %2</translation></message>
<message><source>MQTT stopped: %1</source>
<translation>MQTT s&apos;est arrêté : %1</translation></message>
<message><source>Videos stopped: %1</source>
<translation>Les vidéos se sont arrêtées : %1</translation></message>
<message><source>Connecting to %1:%2…</source>
<translation>Connexion à %1:%2…</translation></message>
</context>
<context>
<name>mpm::gui::Session</name>
<message><source>The watch file still holds the password of %1: the keychain did not take it (%2)</source>
<translation>Le fichier de surveillance contient encore le mot de passe de %1 : le trousseau ne l&apos;a pas pris (%2)</translation></message>
<message><source>The settings cannot be written: %1</source>
<translation>Les réglages ne peuvent être écrits : %1</translation></message>
<message><source>The settings are written again</source>
<translation>Les réglages sont de nouveau écrits</translation></message>
<message><source>The address is not kept, so this source will not return at the next start: %1</source>
<translation>L&apos;adresse n&apos;est pas conservée, cette source ne reviendra donc pas au prochain démarrage : %1</translation></message>
<message><source>Profile &apos;%1&apos; is in use by process %2 (%3): settings and measurements are only read</source>
<translation>Le profil « %1 » est utilisé par le processus %2 (%3) : réglages et mesures sont seulement lus</translation></message>
<message><source>Another source has the name &apos;%1&apos;</source>
<translation>Une autre source porte le nom « %1 »</translation></message>
</context>
<context>
<name>mpm::gui::ShortcutSheet</name>
<message><source>Mouse and focus</source>
<translation>Souris et focus</translation></message>
<message><source>Wheel</source>
<translation>Molette</translation></message>
<message><source>Drag</source>
<translation>Glisser</translation></message>
<message><source>Double click</source>
<translation>Double clic</translation></message>
<message><source>Left, Right</source>
<translation>Gauche, Droite</translation></message>
<message><source>move the split or the timeline</source>
<translation>déplace le partage ou la chronologie</translation></message>
<message><source>Space</source>
<translation>Espace</translation></message>
<message><source>switch the block in focus</source>
<translation>bascule le bloc sélectionné</translation></message>
<message><source>zoom images, or the timeline</source>
<translation>agrandir les images ou la chronologie</translation></message>
<message><source>move images, the timeline, the split</source>
<translation>déplacer les images, la chronologie, le partage</translation></message>
<message><source>one image large, and back</source>
<translation>une image en grand, et retour</translation></message>
<message><source>Keyboard shortcuts</source>
<translation>Raccourcis clavier</translation></message>
</context>
<context>
<name>mpm::gui::Sidebar</name>
<message><source>Show all</source>
<translation>Tout montrer</translation></message>
<message><source>Hide all</source>
<translation>Tout cacher</translation></message>
<message><source>Schedule</source>
<translation>Programme</translation></message>
<message><source>Classes</source>
<translation>Classes</translation></message>
<message><source>Day and night</source>
<translation>Jour et nuit</translation></message>
<message><source>Regions</source>
<translation>Régions</translation></message>
<message><source>Alerts</source>
<translation>Alertes</translation></message>
<message><source>Alerts of this run, newest first</source>
<translation>Alertes de cette session, la plus récente d&apos;abord</translation></message>
<message><source>Health</source>
<translation>Santé</translation></message>
<message><source>Readings of each region of the image</source>
<translation>Mesures de chaque zone de l&apos;image</translation></message>
<message><source>Readings of the last day</source>
<translation>Mesures du dernier jour</translation></message>
<message><source>Readings of the last week</source>
<translation>Mesures de la dernière semaine</translation></message>
<message><source>All readings</source>
<translation>Toutes les mesures</translation></message>
<message><source>Span of the comparison</source>
<translation>Durée de la comparaison</translation></message>
<message><source>From the store, with the present model and schedule</source>
<translation>Depuis la base, avec le modèle et le programme présents</translation></message>
<message><source>Objects</source>
<translation>Objets</translation></message>
<message><source>Objects that are present, with the time of their arrival</source>
<translation>Objets présents, avec l&apos;heure de leur arrivée</translation></message>
</context>
<context>
<name>mpm::gui::SourceBadge</name>
<message><source>no source</source>
<translation>pas de source</translation></message>
<message><source>paused</source>
<translation>en pause</translation></message>
<message><source>Source: %1</source>
<translation>Source : %1</translation></message>
</context>
<context>
<name>mpm::gui::SourceDialog</name>
<message><source>Cameras and recent sources</source>
<translation>Caméras et sources récentes</translation></message>
<message><source>file, folder, rtsp://…, http://…, gst: and a pipeline, or demo</source>
<translation>fichier, dossier, rtsp://…, http://…, gst: et un pipeline, ou demo</translation></message>
<message><source>Address of the source</source>
<translation>Adresse de la source</translation></message>
<message><source>Test</source>
<translation>Essayer</translation></message>
<message><source>Open</source>
<translation>Ouvrir</translation></message>
<message><source>Test shows an image of the source here</source>
<translation>Essayer montre ici une image de la source</translation></message>
<message><source>Its address is in the keychain: it can be opened, not tested</source>
<translation>Son adresse est dans le trousseau : elle peut être ouverte, pas essayée</translation></message>
<message><source>Connecting…</source>
<translation>Connexion…</translation></message>
<message><source>No image</source>
<translation>Aucune image</translation></message>
<message><source>No image came within %1 s</source>
<translation>Aucune image en %1 s</translation></message>
<message><source>Measurements only: images are not shown</source>
<translation>Mesures seules : les images ne sont pas montrées</translation></message>
<message><source>%1×%2 pixels</source>
<translation>%1×%2 pixels</translation></message>
<message><source>%1 frames a second</source>
<translation>%1 images par seconde</translation></message>
<message><source>Cameras</source>
<translation>Caméras</translation></message>
<message><source>Recent</source>
<translation>Récentes</translation></message>
<message><source>Built in: a street by day and night</source>
<translation>Intégrée : une rue de jour et de nuit</translation></message>
<message><source>Another source has this name</source>
<translation>Une autre source porte ce nom</translation></message>
<message><source>name, such as Front door</source>
<translation>nom, par exemple Porte d&apos;entrée</translation></message>
<message><source>Name of the source</source>
<translation>Nom de la source</translation></message>
<message><source>%1 (%2)</source>
<translation>%1 (%2)</translation></message>
</context>
<context>
<name>mpm::gui::SourceGrid</name>
<message><source>Waiting for the first image</source>
<translation>En attente de la première image</translation></message>
<message><source>%1 of %2 tokens, frame %3</source>
<translation>%1 jetons sur %2, image %3</translation></message>
<message><source>paused</source>
<translation>en pause</translation></message>
<message><source>Not live: %1</source>
<translation>Pas en direct : %1</translation></message>
</context>
<context>
<name>mpm::gui::SourceTabs</name>
<message><source>Sources</source>
<translation>Sources</translation></message>
<message><source>Another source has this name</source>
<translation>Une autre source porte ce nom</translation></message>
<message><source>Name of the source</source>
<translation>Nom de la source</translation></message>
<message><source>Such as Front door; empty: %1</source>
<translation>Par exemple Porte d&apos;entrée ; vide : %1</translation></message>
<message><source>%1: %2</source>
<translation>%1 : %2</translation></message>
</context>
<context>
<name>mpm::gui::SourceText</name>
<message><source>no such source; name a camera index, a video, an image, a folder or glob of images, a URL, gst: and a pipeline, env:NAME, secret:NAME, or demo</source>
<translation>source inconnue ; nommez un numéro de caméra, une vidéo, une image, un dossier ou un motif d&apos;images, une adresse, gst: et un pipeline, env:NOM, secret:NOM ou demo</translation></message>
<message><source>permission denied</source>
<translation>permission refusée</translation></message>
<message><source>no such camera, or it is in use; list them with &apos;ls /dev/video*&apos;</source>
<translation>pas de telle caméra, ou elle est occupée ; « ls /dev/video* » les énumère</translation></message>
<message><source>GStreamer rejected the pipeline; try it with gst-launch-1.0, it must end in appsink</source>
<translation>GStreamer a refusé le pipeline ; essayez-le avec gst-launch-1.0, il doit finir par appsink</translation></message>
<message><source>cannot connect; check address, port, user and password, and that the stream runs</source>
<translation>connexion impossible ; vérifiez l&apos;adresse, le port, l&apos;utilisateur et le mot de passe, et que le flux tourne</translation></message>
<message><source>not a video that can be read (damaged, or of an unknown format)</source>
<translation>pas une vidéo lisible (endommagée, ou d&apos;un format inconnu)</translation></message>
<message><source>not a regular file; a pipe is read through gst:filesrc, a camera by its index</source>
<translation>pas un fichier ordinaire ; un tube se lit par gst:filesrc, une caméra par son numéro</translation></message>
<message><source>a playlist or another text, not a video; name the video itself</source>
<translation>une liste de lecture ou un autre texte, pas une vidéo ; indiquez la vidéo elle-même</translation></message>
<message><source>the playlist names another host; its parts must be on the playlist's host</source>
<translation>la liste de lecture nomme un autre hôte ; ses parties doivent se trouver sur le sien</translation></message>
<message><source>no image there; name an image, a folder with images, or a glob as &apos;in/*.jpg&apos;</source>
<translation>aucune image ici ; nommez une image, un dossier d&apos;images ou un motif comme « in/*.jpg »</translation></message>
<message><source>damaged after frame %1 of %2</source>
<translation>endommagée après l&apos;image %1 sur %2</translation></message>
<message><source>the stream broke off after %1 frames</source>
<translation>le flux s&apos;est interrompu après %1 images</translation></message>
<message><source>the stream ended</source>
<translation>le flux s&apos;est terminé</translation></message>
<message><source>frames are not 8-bit images; convert them to BGR</source>
<translation>les images n&apos;ont pas 8 bits par couleur ; convertissez-les en BGR</translation></message>
<message><source>none of its images can be read</source>
<translation>aucune de ses images n&apos;est lisible</translation></message>
<message><source>it is empty</source>
<translation>elle est vide</translation></message>
<message><source>an earlier read has not returned</source>
<translation>une lecture précédente n&apos;est pas terminée</translation></message>
<message><source>no frame came in time</source>
<translation>aucune image n&apos;est arrivée à temps</translation></message>
<message><source>there is no such variable in the environment; set and export it first</source>
<translation>l&apos;environnement n&apos;a pas cette variable ; définissez-la et exportez-la d&apos;abord</translation></message>
<message><source>it is empty; it must hold a source</source>
<translation>il est vide ; il doit contenir une source</translation></message>
<message><source>it names another env: or secret:; it must hold a source itself</source>
<translation>il désigne un autre env: ou secret: ; il doit contenir lui-même une source</translation></message>
<message><source>the keychain has no such entry</source>
<translation>le trousseau n&apos;a pas cette entrée</translation></message>
<message><source>the keychain is not available (%1)</source>
<translation>le trousseau n&apos;est pas disponible (%1)</translation></message>
<message><source>this program was built without a keychain</source>
<translation>ce programme a été construit sans trousseau</translation></message>
<message><source>Built-in street</source>
<translation>Rue intégrée</translation></message>
</context>
<context>
<name>mpm::gui::Sources</name>
<message><source>its address is not in the keychain (%1); open the source again with it</source>
<translation>son adresse n&apos;est pas dans le trousseau (%1) ; rouvrez la source avec elle</translation></message>
</context>
<context>
<name>mpm::gui::SplitView</name>
<message><source>%1 % of pixels agree</source>
<translation>%1 % des pixels concordent</translation></message>
<message><source>%1, %2 ms</source>
<translation>%1, %2 ms</translation></message>
<message><source>%1 %</source>
<translation>%1 %</translation></message>
<message><source>All tokens | merged</source>
<translation>Tous les jetons | fusionnés</translation></message>
<message><source>%1 tokens, %2 ms</source>
<translation>%1 jetons, %2 ms</translation></message>
<message><source>%1 % of pixels agree, %2 ms saved (median)</source>
<translation>%1 % concordent, %2 ms gagnées (médiane)</translation></message>
<message><source>%1 % of pixels agree, %2 ms lost (median)</source>
<translation>%1 % concordent, %2 ms perdues (médiane)</translation></message>
<message><source>cosine of features %1, %2 ms saved (median)</source>
<translation>cosinus des caractéristiques %1, %2 ms gagnées (médiane)</translation></message>
<message><source>cosine of features %1, %2 ms lost (median)</source>
<translation>cosinus des caractéristiques %1, %2 ms perdues (médiane)</translation></message>
<message><source>cosine %1</source>
<translation>cosinus %1</translation></message>
<message><source>The same frame, once with all tokens and once merged, appears here while the schedule merges or reuse is on</source>
<translation>La même image, une fois avec tous les jetons et une fois fusionnée, apparaît ici tant que le programme fusionne ou que le réemploi est actif</translation></message>
<message><source>All tokens | reuse</source>
<translation>Tous les jetons | réemploi</translation></message>
<message><source>, mIoU %1 | %2 % (%3 frames)</source>
<translation>, mIoU %1 | %2 % (%3 images)</translation></message>
<message><source>{%1} | merged</source>
<translation>{%1} | fusionnés</translation></message>
<message><source>{%1} | reuse</source>
<translation>{%1} | réemploi</translation></message>
<message><source>{%1} | all tokens</source>
<translation>{%1} | tous les jetons</translation></message>
</context>
<context>
<name>mpm::gui::StatisticsModel</name>
<message><source>%1 ± %2</source>
<translation>%1 ± %2</translation></message>
<message><source>Night against day, in percent of the day&apos;s mean; single frames spread by %1 %</source>
<translation>La nuit par rapport au jour, en pour cent de la moyenne du jour ; les images isolées s&apos;écartent de %1 %</translation></message>
<message><source>Day</source>
<translation>Jour</translation></message>
<message><source>Night</source>
<translation>Nuit</translation></message>
<message><source>Change, %</source>
<translation>Écart, %</translation></message>
<message><source>Tokens kept</source>
<translation>Jetons gardés</translation></message>
<message><source>Merged away</source>
<translation>Fusionnés</translation></message>
<message><source>Luminance</source>
<translation>Luminance</translation></message>
<message><source>Network, ms</source>
<translation>Réseau, ms</translation></message>
<message><source>Frames</source>
<translation>Images</translation></message>
<message><source>Computed</source>
<translation>Calculés</translation></message>
<message><source>Reused</source>
<translation>Réemployés</translation></message>
<message><source>1 change</source>
<translation>1 changement</translation></message>
<message><source>%1 changes</source>
<translation>%1 changements</translation></message>
</context>
<context>
<name>mpm::gui::StatisticsView</name>
<message><source>Day against night</source>
<translation>Jour contre nuit</translation></message>
</context>
<context>
<name>mpm::gui::TimelinePanel</name>
<message><source>Timeline</source>
<translation>Chronologie</translation></message>
<message><source>1 min</source>
<translation>1 min</translation></message>
<message><source>10 min</source>
<translation>10 min</translation></message>
<message><source>1 h</source>
<translation>1 h</translation></message>
<message><source>1 day</source>
<translation>1 jour</translation></message>
<message><source>1 week</source>
<translation>1 sem.</translation></message>
<message><source>All</source>
<translation>Tout</translation></message>
<message><source>Hours</source>
<translation>Heures</translation></message>
<message><source>Export…</source>
<translation>Exporter…</translation></message>
<message><source>Export every measurement of the range shown, as CSV or JSON</source>
<translation>Exporter chaque mesure de la période montrée, en CSV ou JSON</translation></message>
<message><source>Full height</source>
<translation>Toute la hauteur</translation></message>
<message><source>The timeline takes the place of the views</source>
<translation>La chronologie prend la place des vues</translation></message>
<message><source>A quantity by hour of the day and date</source>
<translation>Une grandeur par heure du jour et date</translation></message>
<message><source>Choose the lanes: luminance, latency, classes, regions</source>
<translation>Choisir les bandes : luminance, latence, classes, régions</translation></message>
<message><source>Quantity by hour and date</source>
<translation>Grandeur par heure et date</translation></message>
<message><source>Lanes</source>
<translation>Bandes</translation></message>
</context>
<context>
<name>mpm::gui::TimelineView</name>
<message><source>before block %1</source>
<translation>avant le bloc %1</translation></message>
<message><source>tokens kept, after merging before block %1</source>
<translation>jetons gardés, après fusion avant le bloc %1</translation></message>
<message><source>all tokens</source>
<translation>tous les jetons</translation></message>
<message><source>Measurements appear here with the first frame</source>
<translation>Les mesures apparaissent ici avec la première image</translation></message>
<message><source>%1, %2: %3 of %4 tokens, luminance %5, %6 ms</source>
<translation>%1, %2 : %3 jetons sur %4, luminance %5, %6 ms</translation></message>
<message><source>night</source>
<translation>nuit</translation></message>
<message><source>day</source>
<translation>jour</translation></message>
<message><source>tokens computed, with reuse</source>
<translation>jetons calculés, avec réemploi</translation></message>
<message><source>%1, %2: %3 % of the tokens computed, mean age %4 frames, luminance %5, %6 ms</source>
<translation>%1, %2 : %3 % des jetons calculés, âge moyen %4 images, luminance %5, %6 ms</translation></message>
<message><source>, %1 ms saved</source>
<translation>, %1 ms gagnées</translation></message>
<message><source>, %1 ms lost</source>
<translation>, %1 ms perdues</translation></message>
<message><source>tokens computed: mean, and from least to most</source>
<translation>jetons calculés : moyenne, minimum et maximum</translation></message>
<message><source>%1 %</source>
<translation>%1 %</translation></message>
<message><source>Timeline of tokens and other quantities</source>
<translation>Chronologie des jetons et d’autres grandeurs</translation></message>
</context>
<context>
<name>mpm::gui::TuneControl</name>
<message><source>The best speed was not found: %1</source>
<translation>La meilleure vitesse n&apos;a pas été trouvée : %1</translation></message>
<message><source>The search for the best speed is cancelled</source>
<translation>La recherche de la meilleure vitesse est annulée</translation></message>
<message><source>Written to %1</source>
<translation>Écrit dans %1</translation></message>
<message><source>The tuned model cannot be written: %1</source>
<translation>Le modèle réglé ne peut être écrit : %1</translation></message>
<message><source>No model</source>
<translation>Aucun modèle</translation></message>
<message><source>Random weights have no best speed: open a model first</source>
<translation>Des poids aléatoires n&apos;ont pas de meilleure vitesse : ouvrez d&apos;abord un modèle</translation></message>
<message><source>Finding the best speed needs images, but measurements only keeps none</source>
<translation>Avec les mesures seules, aucune image n&apos;est gardée, et la recherche de la meilleure vitesse en a besoin</translation></message>
<message><source>Wait for the task below, or cancel it</source>
<translation>Attendez la fin de la tâche ci-dessous, ou annulez-la</translation></message>
<message><source>The source is paused: finding the best speed needs new images</source>
<translation>La source est en pause : la recherche de la meilleure vitesse a besoin de nouvelles images</translation></message>
<message><source>Finding the best speed needs at least %1 images; %2 came in %3 s</source>
<translation>La recherche de la meilleure vitesse a besoin d&apos;au moins %1 images ; %2 sont arrivées en %3 s</translation></message>
<message><source>Measuring the model takes two minutes at most; the analysis waits</source>
<translation>La mesure du modèle prend deux minutes au plus ; l&apos;analyse attend</translation></message>
</context>
<context>
<name>mpm::gui::TuneDialog</name>
<message><source>Times as fast</source>
<translation>Fois plus rapide</translation></message>
<message><source>Agreement, %</source>
<translation>Accord, %</translation></message>
<message><source>Worst tenth, %</source>
<translation>Pire dixième, %</translation></message>
<message><source>Method</source>
<translation>Méthode</translation></message>
<message><source>Before blocks</source>
<translation>Avant les blocs</translation></message>
<message><source>Candidates that no other beats</source>
<translation>Candidats que nul autre ne bat</translation></message>
<message><source>The best speed</source>
<translation>La meilleure vitesse</translation></message>
<message><source>No candidate is fast enough and agrees enough</source>
<translation>Aucun candidat n&apos;est assez rapide et assez fidèle</translation></message>
<message><source>%1 times as fast as all tokens, with an agreement of %2 %</source>
<translation>%1 fois plus rapide que tous les jetons, avec un accord de %2 %</translation></message>
<message><source>%1, before blocks %2</source>
<translation>%1, avant les blocs %2</translation></message>
<message><source>The time ended before all images were measured.</source>
<translation>Le temps s&apos;est écoulé avant que toutes les images soient mesurées.</translation></message>
<message><source>&amp;Use it</source>
<translation>L&apos;&amp;utiliser</translation></message>
<message><source>%1 on %2 images of the source. Agreement is with the output of all tokens. No other candidate is both faster and closer to it.</source>
<translation>%1 sur %2 images de la source. L&apos;accord est celui avec la sortie de tous les jetons. Aucun autre candidat n&apos;est à la fois plus rapide et plus proche d&apos;elle.</translation></message>
</context>
<context>
<name>mpm::gui::VideoRecorder</name>
<message><source>the video cannot be written; check the folder and the space</source>
<translation>la vidéo ne peut être écrite ; vérifiez le dossier et la place</translation></message>
</context>
<context>
<name>mpm::gui::ViewArea</name>
<message><source>The watch file cannot be used</source>
<translation>Le fichier de surveillance est inutilisable</translation></message>
<message><source>Measurements only</source>
<translation>Mesures seules</translation></message>
<message><source>Not live: %1</source>
<translation>Pas en direct : %1</translation></message>
<message><source>%1 (%2)</source>
<translation>%1 (%2)</translation></message>
<message><source>random weights</source>
<translation>poids aléatoires</translation></message>
<message><source>Connecting to %1</source>
<translation>Connexion à %1</translation></message>
<message><source>This source cannot be used</source>
<translation>Cette source ne peut être utilisée</translation></message>
<message><source>The source has ended</source>
<translation>La source est terminée</translation></message>
<message><source>Images are measured and discarded; they are neither kept nor shown.</source>
<translation>Les images sont mesurées puis oubliées ; elles ne sont ni conservées ni montrées.</translation></message>
<message><source>Images stay hidden, because masks may be missing. They are measured and discarded.</source>
<translation>Les images restent cachées, car des masques peuvent manquer. Elles sont mesurées puis oubliées.</translation></message>
<message><source>three principal components</source>
<translation>trois composantes principales</translation></message>
<message><source>Compute only the patches that changed (U): for a camera that does not move</source>
<translation>Ne calculer que les pavés qui ont changé (U) : pour une caméra fixe</translation></message>
<message><source>Turn reuse off</source>
<translation>Désactiver la réutilisation</translation></message>
<message><source>Turn reuse on</source>
<translation>Activer la réutilisation</translation></message>
</context>
<context>
<name>mpm::gui::ViewControls</name>
<message><source>Stage</source>
<translation>Étape</translation></message>
<message><source>Outlines</source>
<translation>Contours</translation></message>
<message><source>all merges</source>
<translation>toutes</translation></message>
<message><source>Merge map after</source>
<translation>Carte de fusion après</translation></message>
<message><source>Opacity of the colours</source>
<translation>Opacité des couleurs</translation></message>
<message><source>Opacity</source>
<translation>Opacité</translation></message>
<message><source>Merges shown in the merge map (S and Shift+S)</source>
<translation>Fusions montrées sur la carte (S et Maj+S)</translation></message>
<message><source>Mean colours</source>
<translation>Moyennes</translation></message>
<message><source>Cluster size</source>
<translation>Tailles</translation></message>
<message><source>Distinct</source>
<translation>Distinctes</translation></message>
<message><source>Colours of the merge map</source>
<translation>Couleurs de la carte de fusion</translation></message>
<message><source>Clusters in the mean colour of their patches, by their size, or each in a colour of its own</source>
<translation>Groupes dans la couleur moyenne de leurs cases, selon leur taille, ou chacun dans sa propre couleur</translation></message>
<message><source>no merge</source>
<translation>aucune</translation></message>
<message><source>block %1</source>
<translation>bloc %1</translation></message>
<message><source>Left: all tokens</source>
<translation>Gauche : tous les jetons</translation></message>
<message><source>Left: {5}</source>
<translation>Gauche : {5}</translation></message>
<message><source>Left: {2, 5}</source>
<translation>Gauche : {2, 5}</translation></message>
<message><source>Left: {2, 5, 8}</source>
<translation>Gauche : {2, 5, 8}</translation></message>
<message><source>Schedule on the left</source>
<translation>Programme à gauche</translation></message>
<message><source>Compare the schedule with all tokens, or with another schedule</source>
<translation>Comparer le programme avec tous les jetons, ou avec un autre programme</translation></message>
</context>
<context>
<name>mpm::gui::ViewTable</name>
<message><source>Overview</source>
<translation>Ensemble</translation></message>
<message><source>Image</source>
<translation>Image</translation></message>
<message><source>Overlay</source>
<translation>Calque</translation></message>
<message><source>Merge map</source>
<translation>Fusion</translation></message>
<message><source>Split</source>
<translation>Partage</translation></message>
<message><source>Night</source>
<translation>Nuit</translation></message>
<message><source>Sources</source>
<translation>Sources</translation></message>
<message><source>Reuse</source>
<translation>Réemploi</translation></message>
</context>
<context>
<name>mpm::gui::WatchControl</name>
<message><source>Alert &apos;%1&apos;, %2: %3</source>
<translation>Alerte « %1 », %2 : %3</translation></message>
<message><source>%1. Images stay hidden: masks may be missing.</source>
<translation>%1. Les images restent cachées : des masques peuvent manquer.</translation></message>
<message><source>Recording; the same key ends it</source>
<translation>Enregistrement ; la même touche l&apos;arrête</translation></message>
<message><source>Measurements only: there is no image to record</source>
<translation>Mesures seules : il n&apos;y a pas d&apos;image à enregistrer</translation></message>
<message><source>Click the corners of the region; Enter or a double click ends, Escape cancels</source>
<translation>Cliquez les coins de la zone ; Entrée ou un double clic termine, Échap annule</translation></message>
<message><source>Region %1</source>
<translation>Région %1</translation></message>
<message><source>%1 is measured from now on</source>
<translation>%1 est mesurée dès maintenant</translation></message>
<message><source>Click the corners of the mask; Enter or a double click ends, Escape cancels</source>
<translation>Cliquez les coins du masque ; Entrée ou un double clic termine, Échap annule</translation></message>
<message><source>Masked before the network, the screen and the store</source>
<translation>Masqué avant le réseau, l&apos;écran et les mesures</translation></message>
<message><source>Alert %1, %2: %3</source>
<translation>Alerte %1, %2 : %3</translation></message>
<message><source>Mask</source>
<translation>Masque</translation></message>
<message><source>There is no region and no mask yet: G draws a region, Shift+G a mask</source>
<translation>Il n&apos;y a encore ni région ni masque : G dessine une région, Maj+G un masque</translation></message>
<message><source>Regions and masks are changed</source>
<translation>Les régions et masques sont modifiés</translation></message>
<message><source>Objects are followed; Regions and privacy chooses their classes</source>
<translation>Les objets sont suivis ; leurs classes se choisissent sous Régions et vie privée</translation></message>
<message><source>Objects are not followed any more</source>
<translation>Les objets ne sont plus suivis</translation></message>
</context>
<context>
<name>mpm::gui::WatchDialog</name>
<message><source>Watch</source>
<translation>Surveiller</translation></message>
<message><source>Alerts</source>
<translation>Alertes</translation></message>
<message><source>Regions and privacy</source>
<translation>Régions et vie privée</translation></message>
<message><source>Publishing</source>
<translation>Publication</translation></message>
</context>
</TS>
