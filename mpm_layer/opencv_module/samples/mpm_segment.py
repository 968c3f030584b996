"""mpm_segment.py MODEL IMAGE [BLOCKS]: the classes of an image, by their share, and the tokens of each block."""
import sys

import cv2
import numpy

model, image = sys.argv[1:3]
if len(sys.argv) > 3:
    cv2.mpm.set("blocks", sys.argv[3])
cv2.mpm.registerLayers()
net = cv2.dnn.readNetFromONNX(model)
net.setInput(cv2.mpm.blobFromImage(cv2.imread(image), model))
labels = net.forward()[0].argmax(0)
for number, name in enumerate(cv2.mpm.labels(model)):
    print("%5.1f %%  %s" % (100 * (labels == number).mean(), name))
print("tokens entering each block:", numpy.asarray(cv2.mpm.tokens()).ravel().tolist())
